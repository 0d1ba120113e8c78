#!/bin/bash
# Read by the image of PostgreSQL when it makes the database: the roles of Granary's processes, each with its password. Made
# here, the migration finds them and only grants them what they need.
set -euo pipefail
folder=${GRANARY_PASSWORDS:-/run/passwords}
for file in "$folder"/granary_*; do
    role=$(basename "$file")
    [ "$role" != "$POSTGRES_USER" ] || continue
    psql -X -q -v ON_ERROR_STOP=1 -v role="$role" -v password="$(cat "$file")" -U "$POSTGRES_USER" -d "$POSTGRES_DB" \
        <<<"create role :\"role\" login password :'password';"
done
