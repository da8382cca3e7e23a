#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# nocma trace as a user calls it. What it makes of each form of text is in trace_test.cpp.
#
# shellcheck disable=SC2154 # bats: run sets stderr

setup() {
	bats_require_minimum_version 1.5.0
	NOCMA=${NOCMA:-$BATS_TEST_DIRNAME/../../../../build/harness/tools/nocma/nocma}
	cd "$BATS_TEST_TMPDIR" || return
	cat >stall.txt <<-'EOT'
		# tracer: function_graph
		 1)               |  ttm_dma_populate [ttm]() {
		 1)               |    dma_generic_alloc_coherent() {
		 1) ! 1990.000 us |      dma_alloc_from_contiguous();
		 1) ! 1995.000 us |    }
		 1) # 2000.000 us |  }
	EOT
}

@test "trace: the verdict names the cause and the series" {
	run -0 --separate-stderr "$NOCMA" trace stall.txt
	[ "${lines[-1]}" = "verdict: 99.5 % of 1 populate call (2.000 ms) was spent in\
 dma_alloc_from_contiguous: the CMA stall; series v4.15 removes it" ]
	[[ $output == *'dma_alloc_from_contiguous        1       1990.000'* ]]
}

@test "trace: standard input, and a mail's marks" {
	sed 's/^/> /; s/$/\r/' stall.txt >mail.txt
	run -0 --separate-stderr "$NOCMA" trace - <mail.txt
	[[ ${lines[-1]} == 'verdict: 99.5 % of 1 populate call'* ]]
}

@test "trace: JSON" {
	run -0 --separate-stderr "$NOCMA" trace --json stall.txt
	[[ $output == *'"format": "nocma-trace-1"'* ]]
	[[ $output == *'"cause": "cma"'* ]]
	[[ $output == *'"cma_per_mille": 995'* ]]
}

@test "trace: a kernel log" {
	echo 'radeon 0000:00:01.0: swiotlb buffer is full (sz: 2097152 bytes), total 32768 (slots), used 0 (slots)' >log.txt
	run -0 --separate-stderr "$NOCMA" trace log.txt
	[[ ${lines[-1]} == 'verdict: swiotlb, too big'* ]]
}

@test "trace: what is no trace is refused in one line" {
	local input

	for input in '' 'Dear list,' '# tracer: nop'; do
		echo "$input" >input
		run -1 --separate-stderr "$NOCMA" trace input
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == 'nocma: input: '* ]]
	done
	run -1 --separate-stderr "$NOCMA" trace absent
	[[ $stderr == *'absent: No such file'* ]]
}

@test "trace: JSON of a log that is no UTF-8" {
	printf '\xff cma: cma_alloc: alloc failed, req-size: 512 pages, ret: -12\n' >log.txt
	run -0 --separate-stderr "$NOCMA" trace --json log.txt
	[[ $output == *'"format": "nocma-trace-1"'* ]]
}

@test "output that cannot be written is an error" {
	# shellcheck disable=SC2016 # for the inner shell
	run -1 --separate-stderr bash -c '"$0" trace stall.txt >/dev/full' "$NOCMA"
	[[ $stderr == 'nocma: '*'No space left on device' ]]
	# shellcheck disable=SC2016 # for the inner shell
	run -0 bash -o pipefail -c '"$0" trace stall.txt | true' "$NOCMA"
}

@test "trace: wrong calls" {
	run -2 "$NOCMA" trace
	run -2 "$NOCMA" trace stall.txt --live 1
	run -2 "$NOCMA" trace --live 0
	run -2 "$NOCMA" trace stall.txt -o file
}

@test "trace: a trace without a populate cannot tell" {
	printf ' 0)   1.000 us    |  schedule();\n' >other.txt
	run -4 --separate-stderr "$NOCMA" trace other.txt
	[[ ${lines[-1]} == 'verdict: cannot tell'* ]]
	[[ $output == *'absent: share of populate'* ]]
}
