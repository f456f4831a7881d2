#!/bin/sh
# Runs the commands of the document's `console` blocks, one after another, in an empty folder: lines
# that start with "$ ". A line that starts with "# exit N" says how the command before it ends.
#   run_examples.sh DOCUMENT CONVOLUME
set -eu
document=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$2" "$folder/bin/convolume"
PATH=$folder/bin:$PATH

awk '/^```console$/ { inside = 1; next } /^```/ { inside = 0 }
     inside && /^\$ / { print "command " substr($0, 3) }
     inside && /^# exit [0-9]+/ { print "exit " $3 }' "$document" > "$folder/examples"
count=0
status=0
expect() {
    [ "$status" -eq "$1" ] || { echo "exit code $status instead of $1: $command"; exit 1; }
}
cd "$folder"
command=none
while read -r kind rest; do
    if [ "$kind" = exit ]; then
        expect "$rest"
        status=0
        continue
    fi
    expect 0
    command=$rest
    echo "\$ $command"
    status=0
    sh -c "$command" || status=$?
    count=$((count + 1))
done < examples
expect 0
echo "$count examples"
[ "$count" -ge 1 ]
