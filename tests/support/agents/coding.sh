#!/bin/sh
# A coding agent in small: `coding.sh LOG [GATE]`. It finds the number of the vault that its prompt asks for in the files of its
# folder, once the file GATE is there, and prints it as `claude -p --output-format json` does. The log has a line for each start.

prompt=$(cat)
printf '%s\t%s\t%s\n' "${BELAY_AGENT%/*}" "$PWD" "$(ls)" >> "$1"
while [ -n "$2" ] && [ ! -e "$2" ]; do sleep 0.1; done
vault=$(printf '%s' "$prompt" | sed -n 's/.*vault of \([A-Za-z]*\).*/\1/p')
fact=$(grep -rho "A number that opens the vault of $vault is [0-9]*" .)
echo spoiled > log.txt
said="${fact##* }\\nSOURCE: \\\"$fact\\\"\\n- SOURCE: words that are nowhere"
printf '{"result":"%s","total_cost_usd":0.01,"usage":{"input_tokens":30,"output_tokens":7}}\n' "$said"
