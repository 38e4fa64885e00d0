"""Settings of tests with generated inputs: the same inputs in each run, and no deadline."""

from hypothesis import HealthCheck, Phase, settings


def tried(times: int) -> settings:
    """Return the settings of a test with so many inputs."""
    phases = [Phase.explicit, Phase.generate, Phase.shrink]
    return settings(
        max_examples=times,
        deadline=None,
        derandomize=True,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
