#!/bin/sh
# The entrypoint of the test cluster's Valkey image. It keeps the contract of the official `valkey` image: flags or a
# configuration file alone mean the server, root steps down to uid 999, /data is where it writes.
set -eu

case ${1-} in
-* | *.conf) set -- valkey-server "$@" ;;
esac

case ${1-} in
redis-server | valkey-server)
	if [ "$(id -u)" = 0 ]; then
		find . \! -user valkey -exec chown valkey:valkey '{}' +
		exec chroot --skip-chdir --userspec=valkey:valkey / "$0" "$@"
	fi
	# The official image is built without protected mode (a container's port is private until someone publishes it);
	# Debian's build is not. Whoever sets it, in a flag or in the file, keeps the last word.
	chosen=no
	for argument; do
		case $argument in
		*protected-mode*) chosen=yes ;;
		*.conf) if grep -qi '^[[:space:]]*protected-mode' "$argument"; then chosen=yes; fi ;;
		esac
	done
	if [ "$chosen" = no ]; then
		set -- "$@" --protected-mode no
	fi
	# Its files hold what the application stored: nobody else's to read.
	if [ "$(umask)" = 0022 ]; then
		umask 0077
	fi
	;;
esac
exec "$@"
