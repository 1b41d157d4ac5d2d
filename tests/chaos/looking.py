"""A generation of the tiny project with looks inside its sweep."""

from tests.chaos.chaos_project import ChaosProject

# its two tasks are shown at the second look in turns, and futile at the first one in what is resolved: nothing differs
LOOKS = (
    "promotion=exact",
    "promotion.options.endpoint=turns",
    "promotion.options.tier=search",
    "promotion.options.looks=5",
    "promotion.options.guards.seconds=null",
    "agent.options.deterministic=false",
    "repeats=5",
)
FUTILE = ("promotion.options.endpoint=resolved",)


def words_of(project: ChaosProject) -> list[str]:
    """The overrides of a generation that is looked at."""
    others = ("promotion=", "promotion.", "agent.options.deterministic=", "repeats=")
    return [*(word for word in project.words if not word.startswith(others)), *LOOKS]
