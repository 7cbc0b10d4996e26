#!/bin/bash
# The entrypoint of the test cluster's PostgreSQL image. It keeps the contract of the official `postgres` image (same
# variables, same folders, same way of taking flags), so that the operator's manifests can't tell them apart.
set -euo pipefail

fail() {
	printf 'entrypoint: %s\n' "$1" >&2
	exit 1
}

# Sets the variable $1 from itself, or from the file that $1_FILE names, or to $2.
from_env_or_file() {
	local name=$1 fallback=${2-} file_name=${1}_FILE value
	if [ -n "${!name-}" ] && [ -n "${!file_name-}" ]; then
		fail "$name and $file_name are both set; set one"
	fi
	value=${!name-$fallback}
	if [ -n "${!file_name-}" ]; then
		[ -r "${!file_name}" ] || fail "$file_name names ${!file_name}, which can't be read"
		value=$(<"${!file_name}")
	fi
	export "$name=$value"
	unset "$file_name"
}

only_asks() {
	local argument
	for argument; do
		case $argument in
		-'?' | --help | --describe-config | -V | --version | -C | -C*) return 0 ;;
		esac
	done
	return 1
}

prepare_folders() {
	mkdir -p "$PGDATA" /var/run/postgresql || :
	# A volume's root belongs to root with fsGroup; only our own subfolder can be made private, and postgres insists on it.
	chmod 0700 "$PGDATA" 2>/dev/null || :
	chmod 3777 /var/run/postgresql 2>/dev/null || :
	if [ "$(id -u)" = 0 ]; then
		find "$PGDATA" /var/run/postgresql \! -user postgres -exec chown postgres:postgres '{}' +
	fi
}

# A pod may run as any uid; initdb refuses one that has no name. A wrapper library lends it one while it runs.
lend_a_name() {
	local library
	getent passwd "$(id -u)" >/dev/null && return
	for library in /usr/lib/*/libnss_wrapper.so; do
		[ -e "$library" ] || fail "uid $(id -u) has no name, and libnss_wrapper is missing"
		NSS_WRAPPER_PASSWD=$(mktemp)
		NSS_WRAPPER_GROUP=$(mktemp)
		printf 'postgres:x:%s:%s:PostgreSQL:%s:/bin/false\n' "$(id -u)" "$(id -g)" "$PGDATA" >"$NSS_WRAPPER_PASSWD"
		printf 'postgres:x:%s:\n' "$(id -g)" >"$NSS_WRAPPER_GROUP"
		export LD_PRELOAD=$library NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
		return
	done
}

take_the_name_back() {
	if [ -n "${NSS_WRAPPER_PASSWD-}" ]; then
		rm -f "$NSS_WRAPPER_PASSWD" "$NSS_WRAPPER_GROUP"
		unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
	fi
}

make_cluster() {
	lend_a_name
	local -a arguments=(--username="$POSTGRES_USER")
	if [ -n "${POSTGRES_INITDB_WALDIR-}" ]; then
		arguments+=(--waldir "$POSTGRES_INITDB_WALDIR")
	fi
	# Evaluated, as the official image does: POSTGRES_INITDB_ARGS holds words with quotes of their own.
	eval 'initdb "${arguments[@]}" --pwfile=<(printf "%s\n" "$POSTGRES_PASSWORD") '"${POSTGRES_INITDB_ARGS-}"
	take_the_name_back
}

allow_hosts() {
	local method=${POSTGRES_HOST_AUTH_METHOD:-}
	if [ -z "$method" ]; then
		method=$(postgres -C password_encryption "${@:2}")
	fi
	printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
}

run_sql() {
	psql --no-psqlrc --set ON_ERROR_STOP=1 --no-password --username "$POSTGRES_USER" "$@"
}

make_database() {
	local exists
	exists=$(run_sql --dbname postgres --tuples-only --set db="$POSTGRES_DB" <<<"select 1 from pg_database where datname = :'db'")
	if [ -z "$exists" ]; then
		run_sql --dbname postgres --set db="$POSTGRES_DB" <<<'create database :"db"'
	fi
}

run_scripts() {
	local script
	for script in /docker-entrypoint-initdb.d/*; do
		[ -e "$script" ] || continue
		printf 'entrypoint: running %s\n' "$script"
		case $script in
		*.sh)
			if [ -x "$script" ]; then "$script"; else . "$script"; fi
			;;
		*.sql) run_sql --dbname "$POSTGRES_DB" --file "$script" ;;
		*.sql.gz) gunzip -c "$script" | run_sql --dbname "$POSTGRES_DB" ;;
		*) printf 'entrypoint: ignoring %s\n' "$script" ;;
		esac
	done
}

first_start() {
	from_env_or_file POSTGRES_PASSWORD
	from_env_or_file POSTGRES_USER postgres
	from_env_or_file POSTGRES_DB "$POSTGRES_USER"
	from_env_or_file POSTGRES_INITDB_ARGS
	if [ -z "$POSTGRES_PASSWORD" ] && [ "${POSTGRES_HOST_AUTH_METHOD-}" != trust ]; then
		fail 'the database is empty and POSTGRES_PASSWORD is not set'
	fi
	ls /docker-entrypoint-initdb.d/ >/dev/null
	make_cluster
	allow_hosts "$@"

	# Reachable through its socket alone, so that nobody takes this short-lived server for the ready one.
	export PGHOST=/var/run/postgresql PGPASSWORD=$POSTGRES_PASSWORD
	pg_ctl -D "$PGDATA" -w -o "$(printf '%q ' "${@:2}" -c listen_addresses= -c unix_socket_directories=/var/run/postgresql -p 5432)" start
	unset PGHOST
	make_database
	run_scripts
	pg_ctl -D "$PGDATA" -w -m fast stop
	unset PGPASSWORD
	printf 'entrypoint: PostgreSQL is initialised and ready to start\n'
}

# As process 1 a shell ignores SIGTERM unless it says otherwise; without this a pod deleted during initdb waits for its kill.
trap 'exit 143' TERM INT

if [ "${1:0:1}" = - ]; then
	set -- postgres "$@"
fi
if [ "$1" = postgres ] && ! only_asks "${@:2}"; then
	prepare_folders
	if [ "$(id -u)" = 0 ]; then
		export HOME=/var/lib/postgresql
		exec chroot --skip-chdir --userspec=postgres:postgres / "$0" "$@"
	fi
	if [ ! -s "$PGDATA/PG_VERSION" ]; then
		first_start "$@"
	fi
fi
exec "$@"
