#!/bin/sh
# An agent in small: `agent.sh LOG`. The first line of stdin is `NAME SECONDS REST`, or `NAME @FILE REST` to wait for a file, and
# the answer is `NAME(REST)`. The log has a line when it starts, and one when it has printed its answer. The name says how:
# *.whole prints before it waits, *.half prints one half before it waits, *.3 answers with a value; if that begins with m, its
# first answer does not fit the schema, and that to the repair, whose key has one part more, does.

read -r name seconds rest
log=$1
# Without what tells one start from another.
call=${BELAY_AGENT%/*}
note() { printf '%s\n' "$1 $name $call $$ $PPID" >> "$log"; }
wait_for() {
  case $seconds in
    @*) while [ ! -e "${seconds#@}" ]; do sleep 0.1; done ;;
    *) sleep "$seconds" ;;
  esac
}
said="\"$name($rest)\""
case $name in
  m*.3) case $call in */*.*.*) value="{\"said\":$said}" ;; *) value='{"said":7}' ;; esac ;;
  *.3) value="{\"said\":$said}" ;;
  *) value=null ;;
esac
first="{\"result\":$said,"
second="\"value\":$value,\"usage\":{\"input\":10,\"output\":5}}"
note start
case $name in
  *.whole) printf '%s%s\n' "$first" "$second"; wait_for ;;
  *.half) printf '%s' "$first"; wait_for; printf '%s\n' "$second" ;;
  *) wait_for; printf '%s%s\n' "$first" "$second" ;;
esac
note end
