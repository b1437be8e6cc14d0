#!/bin/sh
# Creates the role and the database of Corkboard, as the superuser of PostgreSQL. The image of
# PostgreSQL runs it once, when its volume is empty (compose.yaml). The role owns its database and
# nothing else: unlike a superuser, it cannot read files of the machine or run programs on it.
set -eu
: "${CORKBOARD_PASSWORD:?}"
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv password CORKBOARD_PASSWORD
CREATE ROLE corkboard LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE corkboard OWNER corkboard ENCODING 'UTF8' TEMPLATE template0;
REVOKE CONNECT ON DATABASE corkboard FROM PUBLIC;
SQL
