// Shell scripts of a build's containers. They read values from the environment and credentials only from files, so that
// no command line contains a credential. A known failure is written to the termination message as `Reason: sentence`.
// For any other failure, the kubelet uses the end of the log.

import { LOG_ARTIFACT_TYPE, LOG_LAYER_TYPE } from '../../deploy/record/registry-names.ts';

/** Beginning of every script. The kubelet publishes the content of /dev/termination-log in the pod's status. */
const COMMON = `set -o pipefail
umask 022
fail() { printf '%s: %s\\n' "$1" "$2" | tee /dev/termination-log >&2; exit 1; }
# The platform's authorities besides those of the image, for git, curl and BuildKit. What is named for one host takes precedence.
trust() {
  [ -s "$1/authorities.crt" ] || return 0
  cat /etc/ssl/certs/ca-certificates.crt "$1/authorities.crt" > /tmp/authorities.crt 2> /dev/null
  export GIT_SSL_CAINFO=/tmp/authorities.crt CURL_CA_BUNDLE=/tmp/authorities.crt SSL_CERT_FILE=/tmp/authorities.crt
}
`;

// Redirects are not followed, because git would send the credential to their target. Only the requested commit is
// fetched, without history.
export const FETCH_GIT = `${COMMON}
printf '#!/bin/sh\\ncase "$1" in Username*) echo x-access-token;; *) cat /source/token;; esac\\n' > /tmp/askpass
chmod 700 /tmp/askpass
trust /source
[ -s /source/token ] && export GIT_ASKPASS=/tmp/askpass
[ -s /source/ca.crt ] && export GIT_SSL_CAINFO=/source/ca.crt
ulimit -f "$((WORKSPACE_MB * 1024))"
mkdir -p /workspace/source && cd /workspace/source || fail FetchFailed 'The workspace cannot be written.'
git init -q .
for attempt in 1 2 3; do
  git -c http.followRedirects=false -c protocol.version=2 fetch -q --depth 1 --no-tags "$URL" "$REF" 2> /tmp/error && break
  cat /tmp/error >&2
  grep -qiE 'not our ref|find remote ref' /tmp/error && fail RefNotFound "The repository has no $REF: set repo_ref to a branch, tag or commit that it has."
  grep -qiE 'Authentication failed|could not read (Username|Password)|returned error: 40[13]' /tmp/error && fail CodeHostRefused "The code host refuses the credentials for $URL: check the integration and what its account may read."
  grep -qiE 'repository .*not found|returned error: 404' /tmp/error && fail RepositoryNotFound "There is no repository $URL, or the integration's account does not see it."
  grep -qiE 'No space left|File size limit|unpack' /tmp/error && fail SourceTooLarge "The source has more than $WORKSPACE_MB MiB: leave out what is generated."
  [ "$attempt" = 3 ] && fail FetchFailed "$(tail -c 1000 /tmp/error | tr '\\n' ' ')"
  sleep "$((attempt * 2))"
done
git -c advice.detachedHead=false -c core.symlinks=true checkout -q FETCH_HEAD || fail SourceTooLarge "The files of the source cannot be written: they may have $WORKSPACE_MB MiB."
commit=$(git rev-parse HEAD) || fail FetchFailed 'The commit is not known.'
rm -rf .git
printf '%s' "$commit" > /dev/termination-log
`;

// Distribution's token protocol: the 401 response to a first request names the token server. The curl configuration
// with the Authorization header of all further requests is in /tmp/authorization. Where the registry has TLS, nothing is sent
// without it, wherever the registry sends its clients: a RUN shares the network of the pod, and may read what is not encrypted.
const REGISTRY = `
trust "$CREDENTIALS"
tls=()
[ -s "$CREDENTIALS/ca.crt" ] && tls=(--cacert "$CREDENTIALS/ca.crt")
api=$REGISTRY/v2/$REPOSITORY
case $REGISTRY in http://*) protocols='=http,https' ;; *) protocols='=https' ;; esac
get() { curl -sS --proto "$protocols" --retry 3 --retry-connrefused --connect-timeout 10 --max-time 120 "\${tls[@]}" "$@"; }
login() { printf 'user = "%s:%s"\\n' "$(cat "$CREDENTIALS/username")" "$(cat "$CREDENTIALS/password")"; }
part() { printf '%s' "$challenge" | sed -n "s/.*$1=\\"\\([^\\"]*\\)\\".*/\\1/p"; }
ask() { challenge=$(get "$@" -o /dev/null -D - "$api/manifests/$TAG" | tr -d '\\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *//p'); }
# Whether the password may go where the registry asked for it to be sent.
may_login() {
  case $challenge in [Bb]earer*) ;; *) return 0 ;; esac
  case $(part realm) in https://*) ;; http://*) [ "$protocols" != =https ] ;; *) return 1 ;; esac
}
NO_TLS='The registry sends its clients to a token server without TLS: its administrator must set an https URL as its realm.'
authorize() {
  local token
  ask
  may_login || return 1
  case $challenge in
    [Bb]earer*)
      token=$(login | get -f -K - -G --data-urlencode "service=$(part service)" --data-urlencode "scope=repository:$REPOSITORY:$1" "$(part realm)" | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')
      [ -n "$token" ] || return 1
      printf 'header = "Authorization: Bearer %s"\\n' "$token" > /tmp/authorization ;;
    [Bb]asic*) login > /tmp/authorization ;;
    *) : > /tmp/authorization ;;
  esac
}
`;

export const FETCH_UPLOAD = `${COMMON}
CREDENTIALS=/source
${REGISTRY}
authorize pull || { may_login || fail FetchFailed "$NO_TLS"; fail FetchFailed 'The registry gave no token for the uploaded source.'; }
status=$(get -K /tmp/authorization -H 'Accept: application/vnd.oci.image.manifest.v1+json' -o /tmp/manifest -w '%{http_code}' "$api/manifests/$TAG") || fail FetchFailed 'The registry does not answer.'
[ "$status" = 404 ] && fail SourceGone 'The uploaded source is not in the registry: upload it again.'
[ "$status" = 200 ] || fail FetchFailed "The registry answered $status when it was asked for the uploaded source."
digest=$(tr -d ' \\n\\t' < /tmp/manifest | sed -n 's/.*"layers":\\[{\\([^]]*\\)}\\].*/\\1/p' | sed -n 's/.*"digest":"sha256:\\([0-9a-f]\\{64\\}\\)".*/\\1/p')
[ -n "$digest" ] || fail SourceInvalid 'What is in the registry is no uploaded source: upload it again.'
status=$(get -L -K /tmp/authorization --max-time 1800 -o /tmp/upload -w '%{http_code}' "$api/blobs/sha256:$digest") || fail FetchFailed 'The registry does not send all of the uploaded source.'
[ "$status" = 404 ] && fail SourceGone 'The uploaded source is no longer in the registry: upload it again.'
[ "$status" = 200 ] || fail FetchFailed "The registry answered $status when it was asked for the uploaded source."
echo "$digest  /tmp/upload" | sha256sum -c --quiet - > /dev/null 2>&1 || fail SourceInvalid 'The uploaded source is damaged: upload it again.'
mkdir -p /workspace/source
size=$(gzip -dc /tmp/upload 2> /dev/null | head -c "$((WORKSPACE_MB * 1048576 + 1))" | wc -c)
[ "$size" -le "$((WORKSPACE_MB * 1048576))" ] || fail SourceTooLarge "The uploaded source has more than $WORKSPACE_MB MiB once it is unpacked: leave out what is generated."
gzip -t /tmp/upload 2> /dev/null || fail SourceInvalid 'The uploaded source is cut off or is not compressed with gzip: upload it again.'
tar -tvzf /tmp/upload > /tmp/names 2> /tmp/error || fail SourceInvalid 'The uploaded source is no tar archive, or is cut off: upload it again.'
[ -s /tmp/names ] || fail SourceInvalid 'The uploaded source holds no file: upload it again.'
grep -qE '^[bcp]' /tmp/names && fail SourceInvalid 'The uploaded source holds devices or pipes: leave them out.'
tar -xzf /tmp/upload -C /workspace/source --no-same-owner --no-same-permissions --no-overwrite-dir 2> /tmp/error ||
  fail SourceInvalid "The uploaded source cannot be unpacked: $(tail -c 500 /tmp/error | tr '\\n' ' ')"
`;

/** Maximum number of characters of a log that are stored. */
const LOG_CHARACTERS = 8_000_000;
/** Maximum number of characters of a line that are stored: bash's replacements take quadratic time. */
const LINE_CHARACTERS = 16_384;

/** Lines at the end of a log that say why the build failed. */
const RECENT_LINES = 60;
/** Characters of a line of the termination message, which has 4,096 bytes. */
const SHOWN_CHARACTERS = 300;

// The trap is needed because bash, as the container's first process, ignores SIGTERM by default. It signals the whole process
// group, since the builder's script passes no signal on; the recorder ignores it and ends when nothing writes any more. The
// output goes to the container's log and, as lines of JSON, to the registry, where it outlives the pod, also if the build is
// ended. The warnings of the plan are first in it. A failed upload of the log does not fail the build.
export const BUILD = `${COMMON}
CREDENTIALS=/push
${REGISTRY}
store() {
  local line=\${1//\\\\/\\\\\\\\}
  line=\${line//\\"/\\\\\\"}
  TZ=UTC printf '{"t":"%(%FT%TZ)T","c":"build","m":"%s"}\\n' -1 "\${line//[[:cntrl:]]/ }" >&3
}
# A line without its middle if it is long, so that it leaves room for others.
shown() {
  [ "\${#1}" -le ${SHOWN_CHARACTERS} ] && printf '%s\\n' "$1" && return
  printf '%s ... %s\\n' "\${1:0:${SHOWN_CHARACTERS / 2}}" "\${1: -${SHOWN_CHARACTERS / 2}}"
}
record() {
  local line length=0 lines=0
  trap '' TERM
  while IFS= read -r line; do
    printf '%s\\n' "$line"
    store "$line"
  done < /plan/warnings
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\\n' "$line"
    [ "$((lines += 1))" -le ${RECENT_LINES} ] || { mv /tmp/recent /tmp/earlier; lines=1; }
    shown "$line" >> /tmp/recent
    line=\${line:0:${LINE_CHARACTERS}}
    length=$((length + \${#line} + 1))
    if [ "$length" -gt ${LOG_CHARACTERS} ]; then
      store 'The log is longer than 8 MB. The rest is not stored.'
      tee >(exec tail -c 16384 > /tmp/end)
      wait "$!"
      break
    fi
    store "$line"
  done
} 3> /tmp/log
put_blob() {
  local digest location
  digest=sha256:$(sha256sum < "$1" | cut -d ' ' -f 1)
  location=$(get -f -K /tmp/authorization -X POST -o /dev/null -D - "$api/blobs/uploads/" | tr -d '\\r' | sed -n 's/^[Ll]ocation: *//p')
  case $location in /*) location=$REGISTRY$location ;; "$REGISTRY"/*) ;; *) return 1 ;; esac
  case $location in *\\?*) location="$location&digest=$digest" ;; *) location="$location?digest=$digest" ;; esac
  get -f -K /tmp/authorization -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$1" -o /dev/null "$location" || return 1
  printf '{"mediaType":"%s","digest":"%s","size":%s}' "$2" "$digest" "$(wc -c < "$1")"
}
keep_log() {
  local config layer
  gzip -f /tmp/log && printf '{}' > /tmp/empty && authorize pull,push || return 1
  config=$(put_blob /tmp/empty application/vnd.oci.empty.v1+json) || return 1
  layer=$(put_blob /tmp/log.gz ${LOG_LAYER_TYPE}) || return 1
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"${LOG_ARTIFACT_TYPE}","config":%s,"layers":[%s]}' "$config" "$layer" |
    get -f -K /tmp/authorization -X PUT -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' --data-binary @- -o /dev/null "$api/manifests/$TAG"
}
# The end of the log, in less than the bytes of a termination message.
explain() {
  local line
  echo 'The end of the log:'
  { if [ -s /tmp/end ]; then cat /tmp/end; else cat /tmp/earlier /tmp/recent 2> /dev/null; fi; } |
    LC_ALL=C tr -c '\\11\\12\\40-\\176' '?' | tail -n ${RECENT_LINES} | while IFS= read -r line || [ -n "$line" ]; do
      shown "$line"
    done | tail -c 3900
}
trap 'trap "" TERM; kill 0; wait; keep_log > /dev/null 2>&1; exit 143' TERM
ulimit -u 8192 2> /dev/null
# BuildKit itself sends the password wherever the registry says. A registry that does not answer is BuildKit's to report.
ask --retry 0 --max-time 10 2> /dev/null
may_login || fail BuilderFailed "$NO_TLS"
mkfifo /tmp/output
record < /tmp/output &
recorder=$!
buildctl-daemonless.sh build "$@" > /tmp/output 2>&1 &
builder=$!
wait "$builder"
code=$?
wait "$recorder"
keep_log > /dev/null 2>&1
[ "$code" = 0 ] || { explain > /dev/termination-log; exit "$code"; }
digest=$(sed -n 's/.*"containerimage.digest": *"\\(sha256:[0-9a-f]*\\)".*/\\1/p' /tmp/metadata.json)
[ -n "$digest" ] || fail BuilderFailed 'The builder did not report which image it pushed.'
printf '%s' "$digest" > /dev/termination-log
`;
