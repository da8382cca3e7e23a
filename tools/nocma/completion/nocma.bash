# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# bash completion of nocma: what --help lists is what is offered, so it is never out of date.

# _nocma_list SECTION HELP: first words of the lines below "SECTION:".
_nocma_list() {
	sed -n "/^$1:/,/^\$/s/^  \\([^ ,]*\\).*/\\1/p" <<<"$2"
}

_nocma() {
	local current=${COMP_WORDS[COMP_CWORD]} help word words
	local -a path=()

	help=$("$1" --help 2>/dev/null) || return
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		_nocma_list Subcommands "$help" | grep -qxF -- "$word" || continue
		path+=("$word")
		help=$("$1" "${path[@]}" --help 2>/dev/null) || return
	done
	case $current in
	-*) words=$(grep -oE -- '^  (-[a-zA-Z],)?--[a-z0-9-]+' <<<"$help" | grep -oE -- '--[a-z0-9-]+') ;;
	*) words=$(_nocma_list Subcommands "$help") ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# Where nothing of ours fits, file names do.
complete -o default -F _nocma nocma
