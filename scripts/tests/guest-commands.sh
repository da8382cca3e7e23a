#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Played in a guest by scripts/check-commands: every command of nocma, each between a line with its
# name and one with its status. What is said on standard error belongs to it.
set -u

step() {
	name=$1
	shift
	echo "### $name"
	"$@" 2>&1
	echo "### $name: status $?"
}

# Objects are made and freed again as long as the trace is recorded.
trace_live() {
	(
		while ! grep -qs function_graph /sys/kernel/tracing/current_tracer \
			/sys/kernel/tracing/instances/*/current_tracer; do
			sleep 1
		done
		nocma test --filter 'populate-*' >/dev/null 2>&1
	) &
	nocma trace --live "$1" -o /tmp/trace.txt
	status=$?
	wait
	return $status
}

bench() {
	nocma bench --mode idle --samples 4 --label "$1" -o "/tmp/$1.json"
}

# What of a process that is killed stays in the tracer.
killed_trace() {
	nocma trace --live 60 &
	sleep 4
	kill -KILL $!
	sleep 3
	cat /sys/kernel/tracing/current_tracer
	ls /sys/kernel/tracing/instances
}

step doctor nocma doctor
step doctor-json nocma doctor --json
step trace-live trace_live 12
step trace-file nocma trace /tmp/trace.txt
step trace-killed killed_trace
step bench-nocma bench nocma
step bench-stock bench stock
step report-text nocma report /tmp/nocma.json /tmp/stock.json
step report-html nocma report /tmp/nocma.json /tmp/stock.json -o /tmp/report.html

# A kernel that tells less, as far as a guest can play it; tracefs is mounted again by who needs it.
umount /sys/kernel/tracing /sys/kernel/debug
step blind-doctor nocma doctor
step blind-trace nocma trace --live 1
step blind-bench bench nocma
step blind-test nocma test
