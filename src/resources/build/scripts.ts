// What the containers of a build run. Values come from the environment, and credentials from files alone: no command line
// holds one. A failure that is known is left behind as `Reason: sentence`; of any other the kubelet keeps the end of the log.

/** Before each of them. The kubelet shows people and the controller what is written to /dev/termination-log. */
const COMMON = `set -o pipefail
umask 022
fail() { printf '%s: %s\\n' "$1" "$2" | tee /dev/termination-log >&2; exit 1; }
`;

// A redirection would be asked with the same credential. The branch, tag or commit is fetched and nothing beside it.
export const FETCH_GIT = `${COMMON}
printf '#!/bin/sh\\ncase "$1" in Username*) echo x-access-token;; *) cat /source/token;; esac\\n' > /tmp/askpass
chmod 700 /tmp/askpass
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

// The token protocol of registries: the answer to a first request says where a token is to be had.
export const FETCH_UPLOAD = `${COMMON}
tls=()
[ -s /source/ca.crt ] && tls=(--cacert /source/ca.crt)
get() { curl -sS --retry 3 --retry-connrefused --connect-timeout 10 "\${tls[@]}" "$@"; }
challenge=$(get -o /dev/null -D - "$REGISTRY/v2/$REPOSITORY/manifests/$TAG" | tr -d '\\r' | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *//p')
part() { printf '%s' "$challenge" | sed -n "s/.*$1=\\"\\([^\\"]*\\)\\".*/\\1/p"; }
login() { printf 'user = "%s:%s"\\n' "$(cat /source/username)" "$(cat /source/password)"; }
case $challenge in
  [Bb]earer*)
    token=$(login | get -f -K - -G --data-urlencode "service=$(part service)" --data-urlencode "scope=repository:$REPOSITORY:pull" "$(part realm)" | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')
    [ -n "$token" ] || fail FetchFailed 'The registry gave no token for the uploaded source.'
    printf 'header = "Authorization: Bearer %s"\\n' "$token" > /tmp/authorization ;;
  [Bb]asic*) login > /tmp/authorization ;;
  *) : > /tmp/authorization ;;
esac
status=$(get -K /tmp/authorization -H 'Accept: application/vnd.oci.image.manifest.v1+json' -o /tmp/manifest -w '%{http_code}' "$REGISTRY/v2/$REPOSITORY/manifests/$TAG") || fail FetchFailed 'The registry does not answer.'
[ "$status" = 404 ] && fail SourceGone 'The uploaded source is not in the registry: upload it again.'
[ "$status" = 200 ] || fail FetchFailed "The registry answered $status when it was asked for the uploaded source."
digest=$(tr -d ' \\n\\t' < /tmp/manifest | sed -n 's/.*"layers":\\[{\\([^]]*\\)}\\].*/\\1/p' | sed -n 's/.*"digest":"sha256:\\([0-9a-f]\\{64\\}\\)".*/\\1/p')
[ -n "$digest" ] || fail SourceInvalid 'What is in the registry is no uploaded source: upload it again.'
get -f -L -K /tmp/authorization -o /tmp/upload "$REGISTRY/v2/$REPOSITORY/blobs/sha256:$digest" || fail SourceGone 'The uploaded source cannot be read from the registry: upload it again.'
echo "$digest  /tmp/upload" | sha256sum -c --quiet - || fail SourceInvalid 'The uploaded source is damaged: upload it again.'
mkdir -p /workspace/source
gzip -t /tmp/upload 2> /dev/null || fail SourceInvalid 'The uploaded source is cut off or is not compressed with gzip: upload it again.'
size=$(gzip -dc /tmp/upload | head -c "$((WORKSPACE_MB * 1048576 + 1))" | wc -c)
[ "$size" -le "$((WORKSPACE_MB * 1048576))" ] || fail SourceTooLarge "The uploaded source has more than $WORKSPACE_MB MiB once it is unpacked: leave out what is generated."
tar -tvzf /tmp/upload > /tmp/names 2> /tmp/error || fail SourceInvalid 'The uploaded source is no tar archive, or is cut off: upload it again.'
grep -qE '^[bcp]' /tmp/names && fail SourceInvalid 'The uploaded source holds devices or pipes: leave them out.'
tar -xzf /tmp/upload -C /workspace/source --no-same-owner --no-same-permissions --no-overwrite-dir 2> /tmp/error ||
  fail SourceInvalid "The uploaded source cannot be unpacked: $(tail -c 500 /tmp/error | tr '\\n' ' ')"
`;

// bash as the first process ignores SIGTERM unless it says otherwise.
export const BUILD = `${COMMON}
trap 'kill $!; wait; exit 143' TERM
ulimit -u 8192 2> /dev/null
buildctl-daemonless.sh build "$@" &
wait $! || exit
digest=$(sed -n 's/.*"containerimage.digest": *"\\(sha256:[0-9a-f]*\\)".*/\\1/p' /tmp/metadata.json)
[ -n "$digest" ] || fail BuilderFailed 'The builder did not say which image it pushed.'
printf '%s' "$digest" > /dev/termination-log
`;
