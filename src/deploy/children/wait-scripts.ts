// The shell scripts of the init containers that wait for the database and for Redis. Plain POSIX sh with awk, grep and
// timeout, which the Debian and Alpine images of PostgreSQL and Redis contain.
//
// Rules: a password is never on a command line (builtins and pipes extract it from the URI, and it is passed in the
// environment). No part of an invalid URI is used or printed. The scripts wait without a limit, because a database may come
// back after an hour. They end immediately when the pod is deleted.
//
// The application's connection may use files that these containers lack (certificates in the record's volumes or image). If
// the server's certificate therefore cannot be verified, no password is sent, and a request for a password counts as an
// answer.

/** decode TEXT: converts %XX to bytes. awk writes octal escapes, which printf %b of every sh understands. */
const DECODE = `
decode() {
  printf '%b' "$(printf '%s' "$1" | LC_ALL=C awk '{
    gsub(/\\\\/, "%5c")
    out = ""
    while (match($0, /%[0-9A-Fa-f][0-9A-Fa-f]/)) {
      high = index("0123456789abcdef", tolower(substr($0, RSTART + 1, 1))) - 1
      low = index("0123456789abcdef", tolower(substr($0, RSTART + 2, 1))) - 1
      out = out substr($0, 1, RSTART - 1) sprintf("\\\\0%03o", high * 16 + low)
      $0 = substr($0, RSTART + 3)
    }
    printf "%s", out $0
  }')"
}
`;

/**
 * split: splits $uri into scheme, user, password (both still encoded), hosts, path and query. It fails if an @ or a port
 * suggests that a password was not percent-encoded, because parts of it would be treated as a host name and printed.
 */
const SPLIT = `
split() {
  case $uri in *://*) ;; *) return 1 ;; esac
  scheme=\${uri%%://*}
  rest=\${uri#*://}
  authority=\${rest%%[/?#]*}
  rest=\${rest#"$authority"}
  case $authority in
    *@*) userinfo=\${authority%@*} ;;
    *) case $rest in *user=* | *username=*) ;; *@*) return 1 ;; esac ;;
  esac
  hosts=\${authority##*@}
  user=\${userinfo%%:*}
  case $userinfo in *:*) password=\${userinfo#*:} ;; esac
  rest=\${rest%%#*}
  case $rest in *\\?*) query=\${rest#*\\?} ;; esac
  path=\${rest%%\\?*}
  case $path in *@*) return 1 ;; esac
  host='(\\[[0-9A-Fa-f:.%]+\\]|[^]:@,[]*)(:[0-9]*)?'
  [ -z "$hosts" ] || printf '%s\\n' "$hosts" | grep -Eqx "$host(,$host)*"
}
usable=yes blind=no scheme= rest= authority= userinfo= hosts= user= password= query= path=
`;

/** Reads $uri into $target, which has no password, $password and $root, and sets $usable. */
const READ_TARGET = `split || usable=no
case $scheme in postgres | postgresql | postgres+* | postgresql+*) ;; *) usable=no ;; esac
target="postgresql://$user\${user:+@}$hosts$path" join='?' mode= root=
set -f
IFS='&'
for parameter in $query; do
  value=\${parameter#*=}
  case $parameter in
    password=*) password=$value ;;
    ssl=true | ssl=1 | sslmode=no-verify) mode=require ;;
    sslmode=*) mode=$value ;;
    sslrootcert=*) root=$(decode "$value") ;;
    sslcert=* | sslkey=* | sslcrl=*)
      if [ -r "$(decode "$value")" ]; then target=$target$join$parameter join='&'; fi ;;
    host=* | hostaddr=* | port=* | user=* | dbname=* | options=* | target_session_attrs=* | sslnegotiation=* | sslsni=* | channel_binding=* | gssencmode=*)
      target=$target$join$parameter join='&' ;;
  esac
done
unset IFS
set +f
`;
/** Whether the server's certificate can be verified as $mode says; otherwise $blind is yes, and no password is sent. */
const VERIFY_TARGET = `case $mode in verify-*)
  if [ -r "$root" ]; then
    target=$target\${join}sslrootcert=$root join='&'
  else
    mode=require blind=yes
  fi ;;
esac
[ -z "$mode" ] || target=$target\${join}sslmode=$mode
if [ -n "$password" ] && [ "$blind" = no ]; then
  PGPASSWORD=$(decode "$password")
  export PGPASSWORD
fi
`;

/** Runs attempt until it succeeds. Prints the cause of a failure when it changes, and once a minute. */
const LOOP = `
unset uri rest authority userinfo password query parameter
trap 'exit 143' TERM
trap 'exit 130' INT
said= tries=0
until reason=$(attempt "$@"); do
  if [ "$reason" != "$said" ] || [ $((tries % 30)) -eq 0 ]; then
    printf 'Waiting for %s: %s\\n' "$what" "\${reason:-no answer in time}"
    said=$reason
  fi
  tries=$((tries + 1))
  sleep 2 &
  wait $!
done
printf '%s answers\\n' "$what"
`;

/**
 * Ends when the PostgreSQL at $POSTGRES_URI answers `select 1`. Only query parameters that affect the connection are kept,
 * because psql rejects those that applications add.
 */
export const WAIT_FOR_DATABASE_SCRIPT = `what=PostgreSQL uri=$POSTGRES_URI
unset POSTGRES_URI
${DECODE.trim()}
${SPLIT.trim()}
attempt() {
  if [ "$usable" = no ]; then
    echo 'POSTGRES_URI cannot be read; it is postgresql://user:password@host:port/database, special characters percent-encoded'
    return 1
  fi
  answer=$(timeout 10 psql -X -w -q -A -t -d "$target" -c 'select 1' 2>&1) && return 0
  if [ "$blind" = yes ]; then
    case $answer in *'no password supplied'* | *'client certificate'*) return 0 ;; esac
  fi
  printf '%s' "$answer" | tr '\\n' ' '
  return 1
}
${READ_TARGET}${VERIFY_TARGET}export PGCONNECT_TIMEOUT=5
${LOOP.trim()}
`;

/** Ends when the Redis at $REDIS_URI answers PONG. */
export const WAIT_FOR_REDIS_SCRIPT = `what=Redis uri=$REDIS_URI
unset REDIS_URI
${DECODE.trim()}
${SPLIT.trim()}
attempt() {
  if [ "$usable" = no ]; then
    echo 'REDIS_URI cannot be read; it is redis://user:password@host:port/0 (rediss:// for TLS), special characters percent-encoded'
    return 1
  fi
  answer=$(timeout 10 "$cli" "$@" ping 2>&1 </dev/null)
  if [ "$(printf '%s' "$answer" | tail -n 1)" = PONG ]; then return 0; fi
  if [ "$blind" = yes ]; then
    case $answer in *NOAUTH* | *NOPERM*) return 0 ;; esac
  fi
  printf '%s' "$answer" | tr '\\n' ' '
  return 1
}
split || usable=no
tls=no
case $scheme in redis | valkey) ;; rediss | valkeys) tls=yes ;; *) usable=no ;; esac
case $hosts in *,*) usable=no ;; esac
case $hosts in
  \\[*) host=\${hosts%%]*} host=\${host#[} port=\${hosts##*]} ;;
  *) host=\${hosts%%:*} port=\${hosts#"$host"} ;;
esac
port=\${port#:}
authorities= verify=yes
for file in "$SSL_CERT_FILE" /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem; do
  if [ -z "$authorities" ] && [ -s "$file" ]; then authorities=$file; fi
done
set -f
IFS='&'
for parameter in $query; do
  value=\${parameter#*=}
  case $parameter in
    username=*) user=$value ;;
    password=*) password=$value ;;
    ssl_ca_certs=*) authorities=$(decode "$value") ;;
    ssl_cert_reqs=none | ssl_cert_reqs=CERT_NONE) verify=no ;;
  esac
done
unset IFS
set +f
set -- -h "\${host:-127.0.0.1}" -p "\${port:-6379}"
if [ "$tls" = yes ]; then
  set -- "$@" --tls
  case $host in *:*) ;; *[!0-9.]*) set -- "$@" --sni "$host" ;; esac
  if [ "$verify" = no ]; then
    set -- "$@" --insecure
  elif [ -r "$authorities" ]; then
    set -- "$@" --cacert "$authorities"
  else
    set -- "$@" --insecure
    blind=yes
  fi
fi
if [ -n "$password" ] && [ "$blind" = no ]; then
  REDISCLI_AUTH=$(decode "$password")
  export REDISCLI_AUTH
  if [ -n "$user" ]; then set -- "$@" --user "$(decode "$user")"; fi
fi
cli=redis-cli
command -v redis-cli >/dev/null || cli=valkey-cli
${LOOP.trim()}
`;
