"""How often a test tries inputs that are made up: always the same ones, and however long one takes."""

from hypothesis import HealthCheck, Phase, settings


def tried(times: int) -> settings:
    """Return the settings of a test that tries so many inputs."""
    phases = [Phase.explicit, Phase.generate, Phase.shrink]
    return settings(
        max_examples=times,
        deadline=None,
        derandomize=True,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
