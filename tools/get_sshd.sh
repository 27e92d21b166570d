#!/bin/sh
# Installs the distribution's OpenSSH client and server for the tests, which start the server
# themselves: nothing listens afterwards that did not before. Where that cannot be done, one line
# says why and the status is 0 all the same, since the tests that need it are skipped and counted.
set -u
PATH=$PATH:/usr/sbin:/sbin
export PATH DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
output=$(mktemp)
trap 'rm -f -- "$output"' EXIT

is_there() {
    command -v ssh >/dev/null && command -v ssh-keygen >/dev/null && command -v sshd >/dev/null
}

give_up() {
    echo "OpenSSH is missing, so the tests that need it are skipped: $*"
    exit 0
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

# Debian starts what it installs, unless this program says no. One that is there stays as it is.
install_on_debian() {
    as_root apt-get -q update
    if [ -e "$policy" ]; then
        has_policy=yes
    else
        has_policy=no
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy"
        as_root chmod 755 "$policy"
    fi
    as_root apt-get -q -y -o DPkg::Lock::Timeout=120 install --no-install-recommends \
        openssh-client openssh-server
    [ "$has_policy" = yes ] || as_root rm -f -- "$policy"
}

install() {
    case $1 in
    apt-get) install_on_debian ;;
    dnf) as_root dnf -q -y install openssh-clients openssh-server ;;
    apk) as_root apk add --no-cache openssh-client openssh-server ;;
    esac
}

is_there && exit 0
as_root true 2>/dev/null || give_up "only root can install it"
for manager in apt-get dnf apk none; do
    command -v "$manager" >/dev/null && break
done
[ "$manager" != none ] || give_up "neither apt-get nor dnf nor apk is here"
install "$manager" >"$output" 2>&1
is_there || give_up "$(tail -n 1 -- "$output")"
echo "OpenSSH is installed for the tests, and not started"
