"""Fixtures: a team's server on a real PostgreSQL, and a home that pushes to it."""

import pytest

from tests.helpers.homes import Home
from tests.helpers.stored import write_session
from tests.helpers.team_server import Team, wheel_postgres


@pytest.fixture
def team() -> Team:
    return wheel_postgres().make_team()


@pytest.fixture
def pushing(team: Team, home: Home) -> Home:
    """Return a home with two sessions of the project `shop` and the remote `team` of bob."""
    team.grant("bob", "*")
    write_session(home, 1)
    write_session(home, 2)
    home.index()
    home.run("remote", "add", "team", team.url("bob"), "-p", "*")
    return home
