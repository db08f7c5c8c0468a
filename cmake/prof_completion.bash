# Bash completion of prof-analyze, prof-model, prof-schedule and prof-run.
#
# Subcommands and options are what the program's own --help lists, so that they are never out of date.

_inline_prof_complete() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} first=${COMP_WORDS[1]-}
  local help subcommands
  COMPREPLY=()
  help=$("$program" --help 2>/dev/null) || return 0
  # Below "Subcommands:" a name stands two blanks from the margin.
  subcommands=$(awk '/^Subcommands:/ { on = 1; next } /^[^ ]/ { on = 0 }
                     on && /^  [a-z]/ { print $1 }' <<<"$help")
  if ((COMP_CWORD > 1)) && grep -qxF -- "$first" <<<"$subcommands"; then
    help=$("$program" "$first" --help 2>/dev/null) || return 0
  fi
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W \
      "$(grep -oE '^ +(-[a-zA-Z],)?--[a-z][a-z-]*' <<<"$help" | grep -oE -- '--[a-z-]+')" -- "$current")
  elif ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$subcommands" -- "$current"; compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -o filenames -F _inline_prof_complete prof-analyze prof-model prof-schedule prof-run
