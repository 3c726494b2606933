#!/usr/bin/env bash
# Uploads a letter of authorization and a large file to a request, waits until the carrier has both, and prints their events.
# It needs curl, openssl, and Node to read JSON. Set URL, KEY, REQUEST, and EVENTS, the URL of the events:
#
#     docs/examples/client.sh loa.pdf scan.bin
set -euo pipefail
if [ $# != 2 ] || [ -z "${URL:-}" ] || [ -z "${KEY:-}" ] || [ -z "${REQUEST:-}" ]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
request="$URL/api/v1/requests/$REQUEST"

# Evaluates an expression of `it`, the JSON on standard input, and prints the result. Fails without input. jq can replace it.
json() { node -pe "const text = String(fs.readFileSync(0)); text || process.exit(1); const it = JSON.parse(text); $1"; }

# Prints the document of a response. Its errors end the program.
patchbay() {
  local response
  response=$(curl -sS --fail-with-body -H "Authorization: Bearer $KEY" "$@") ||
    { echo "$0: ${*: -1} failed: $response" >&2 && exit 1; }
  echo "$response"
}

# Sends an Idempotency-Key, so that --retry can repeat a request whose response was lost: nothing is created twice.
create() { patchbay --retry 3 -H "Idempotency-Key: $(openssl rand -hex 16)" "$@"; }
create_json() { create -H 'Content-Type: application/json' -d "$1" "$2"; }

# One call, for a file of up to 4.6 MB. In quotes, curl takes any path: others end at a comma or a semicolon.
upload_by_form() {
  local path=${1//\\/\\\\}
  path=${path//\"/\\\"}
  create -F 'data[name]=Letter of authorization' -F 'data[file_hint]=LOA' -F "data[file]=@\"$path\";type=application/pdf" \
    "$request/attachments" | json it.data.id
}

# Prints the body that prepares an upload. A name has no backslash, no control character and none that changes the direction of text.
announce() {
  node -p 'const [name, bytes, sha256] = process.argv.slice(1);
    const filename = name.replace(/[\\\p{Cc}\p{Bidi_Control}]/gu, "_");
    JSON.stringify({ type: "upload", data: { filename, bytes: Number(bytes), sha256 } })' \
    -- "$(basename -- "$1")" "$(wc -c <"$1")" "$(openssl dgst -sha256 -r <"$1" | cut -c1-64)"
}

# Three calls, for a file of up to 100 MB: prepare the upload, send the file to storage, complete the upload.
upload_directly() {
  local upload headers status attempt
  upload=$(create_json "$(announce "$1")" "$request/uploads")
  headers=$(json 'Object.entries(it.data.headers).map((header) => `header = "${header.join(": ")}"`).join("\n")' <<<"$upload")
  for attempt in 1 2 3 4 5; do
    # With -g, brackets and braces in a name are no patterns.
    status=$(curl -sS -g --retry 3 -K - -T "$1" -o /dev/null -w '%{http_code}' "$(json it.data.url <<<"$upload")" <<<"$headers")
    # 409 (ConditionalRequestConflict): storage still receives an earlier attempt, whose response was lost.
    [ "$status" = 409 ] || break
    sleep "$attempt"
  done
  # 412: the file is already stored. An earlier attempt arrived, but its response was lost.
  [[ $status == 200 || $status == 412 ]] || { echo "Storage returned $status" >&2 && exit 1; }
  create_json '{"type":"request_attachment","data":{"name":"Scan"}}' \
    "$request/uploads/$(json it.data.id <<<"$upload")/complete" | json it.data.id
}

# An attachment reaches the carrier when its order is checked out.
wait_for_carrier() {
  local state
  for _ in $(seq 600); do
    state=$(patchbay "$request/attachments/$1?include=forwarding" | json it.associations.forwarding.data.state)
    [ "$state" != forwarded ] || { echo "$1 is with the carrier" && return; }
    [ "$state" != refused ] || { echo "The carrier has refused $1." >&2 && exit 1; }
    sleep 1
  done
  echo "The carrier does not have the files after ten minutes." >&2 && exit 1
}

# Prints the events of these attachments until each has been forwarded. An event can arrive twice, in any order.
follow() {
  local after='' events lines seen=''
  until [[ $seen == *"request_attachment.forwarded $1"* && $seen == *"request_attachment.forwarded $2"* ]]; do
    events=$(curl -sS --fail-with-body "$EVENTS?after=$after")
    after=$(json "it.events.at(-1)?.detail.id ?? '$after'" <<<"$events")
    lines=$(json 'it.events.map((event) => `${event.time} ${event["detail-type"]} ${event.detail.resource.id}`).join("\n")' \
      <<<"$events" | grep -e "$1" -e "$2" || true)
    [ -z "$lines" ] || echo "$lines"
    seen+=$lines
    sleep 1
  done
}

# With a folder, no path is an option.
[[ $1 == */* ]] || set -- "./$1" "$2"
[[ $2 == */* ]] || set -- "$1" "./$2"
loa=$(upload_by_form "$1")
scan=$(upload_directly "$2")
echo "Uploaded. Waiting until the carrier has them ..."
wait_for_carrier "$loa"
wait_for_carrier "$scan"
[ -z "${EVENTS:-}" ] || follow "$loa" "$scan"
