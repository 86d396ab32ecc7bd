#!/usr/bin/env bash
# Makes one database and one user each for Prefect and Marquez. PostgreSQL's image runs it at the very first start.
set -euo pipefail

database() { # name password
  psql --username "${POSTGRES_USER:-postgres}" --set ON_ERROR_STOP=1 --set name="$1" --set password="$2" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
SQL
}

database prefect "$PREFECT_DB_PASSWORD"
database marquez "$MARQUEZ_DB_PASSWORD"
