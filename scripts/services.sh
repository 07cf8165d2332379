#!/usr/bin/env bash
# Installs what some tests need and npm does not bring, from Debian's packages. Run it once on a new machine: npm run services
#   npm run services             everything
#   npm run services -- browser  only the browser
set -euo pipefail

wanted="${*:-browser}"

install() {
  local packages=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || packages+=("$package")
  done
  if [ "${#packages[@]}" -eq 0 ]; then
    echo "Installed already: $*"
    return
  fi
  local sudo=''
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Installing ${packages[*]} needs root. Run: apt-get install ${packages[*]}" >&2; exit 1; }
    sudo='sudo'
  fi
  echo "Installing ${packages[*]} …"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
}

for service in $wanted; do
  case "$service" in
    browser) install chromium ;;
    *)
      echo "There is no service $service. There is: browser." >&2
      exit 2
      ;;
  esac
done
