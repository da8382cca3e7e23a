#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# First process of a guest. Standard input and output are the console, ttyS0; the job finds the
# verdict's port (ttyS1) as descriptor 3 and the data port (ttyS2) as descriptor 4. Whatever
# happens, the verdict ends with the line that nocma guest waits for, unless the kernel dies.
set -u

/bin/busybox mkdir -p /dev /proc /sys /tmp /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t devtmpfs devtmpfs /dev
mount -t proc proc /proc
# udev's part: a script that appends to /dev/stdout would make a file of it.
ln -s /proc/self/fd /dev/fd
for link in 0:stdin 1:stdout 2:stderr; do
	ln -s "/proc/self/fd/${link%:*}" "/dev/${link#*:}"
done
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs tmpfs /tmp

# Raw: no carriage returns in the verdict, no echo of what the host never sends.
for port in /dev/ttyS1 /dev/ttyS2; do
	stty -F "$port" raw -echo
done
exec 3>/dev/ttyS1 4>/dev/ttyS2

status=1
modules=$(cat /etc/nocma/modules)
# shellcheck disable=SC2086
if [ -z "$modules" ] || modprobe -a $modules; then
	# shellcheck disable=SC1091
	. /etc/nocma/job
	status=$?
else
	echo "# a module does not load, see the console" >&3
fi
echo "# nocma-guest: exit $status" >&3
# Closing waits until the port has sent everything.
exec 3>&- 4>&-
reboot -f
