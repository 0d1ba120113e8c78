"""All rows that a query would see, read past the services: also while any of them lies dead."""

import subprocess

from stacklib import services


def scan(stack, table):
    """The NDJSON lines of project.table, sorted."""
    layout = stack.servers.layout
    env = {**services.BASE_ENVIRONMENT,
           "GRANARY_CATALOG_URL": stack.servers.local.postgres.url("granary_owner", stack.database),
           "GRANARY_CATALOG_PASSWORD_FILE": str(layout.secret_file("postgres-granary_owner")),
           **stack.contents.settings()}
    answer = subprocess.run([f"{stack.servers.build}/tools/scan", *table.split(".", 1)], env=env, capture_output=True,
                            text=True, check=False, timeout=240, stdin=subprocess.DEVNULL)
    assert answer.returncode == 0, answer.stderr
    return sorted(answer.stdout.splitlines())
