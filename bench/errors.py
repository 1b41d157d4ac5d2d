"""Everything that `bench` raises on purpose.

    IncumbentError
    ├── UserError                  the request was wrong: exit 2, printed without a traceback
    │   ├── ConfigError            an override, an option or a value of the configuration
    │   │   ├── BudgetExhausted    a plan that cannot finish under the budget: exit 3
    │   │   └── BudgetSpent        nothing is left of a budget or of the time: exit 3
    │   ├── ExtensionError         a name that no installed extension registers
    │   ├── SuiteError             a suite file, its tasks, labels, prompts, sources
    │   ├── SkillError             a skill folder
    │   ├── OverlayError           a candidate overlay
    │   ├── RunError               a run folder, its rows or its store
    │   ├── AgentError             an agent that cannot be started as configured
    │   ├── GatewayError           a gateway that cannot be opened: its upstream, key, script or cassettes
    │   ├── NotReproducible        what was done cannot be done again: exit 6
    │   └── SandboxUnavailable     this host cannot confine a command as configured
    └── MeasurementError           a cell could not be measured; becomes the row's kind, never a traceback
        ├── WorkspaceError         a template or working copy
        ├── SandboxError           a command could not be confined or run
        ├── GatewayBroken          the gateway of a run ended, or does not answer
        └── ReviewInvalid          a review breaks the artifact's contract

Any other exception is a bug: it stops the sweep and is printed with its traceback, so that a harness
bug is never averaged in as an ordinary failure.
"""


class IncumbentError(Exception):
    """Base of all errors of this project."""


class UserError(IncumbentError):
    """The request was wrong. The message says what, where, and what to do."""


class ConfigError(UserError):
    """The configuration cannot be composed or does not fit its schema."""


class BudgetExhausted(ConfigError):  # noqa: N818 - it is a state of the budget, named as such
    """A plan cannot finish under the budget of its run or campaign."""


class BudgetSpent(ConfigError):  # noqa: N818 - it is a state of the budget, named as such
    """Nothing is left to spend, of a campaign's money or of the time until the deadline."""


class ExtensionError(UserError):
    """No installed distribution registers an extension under this name."""


class SuiteError(UserError):
    """A suite cannot be used as it is."""


class SkillError(UserError):
    """A skill folder cannot be used as it is."""


class OverlayError(UserError):
    """A candidate overlay is refused."""


class RunError(UserError):
    """A run folder, its rows or its object store cannot be used as they are."""


class AgentError(UserError):
    """An agent cannot be started as configured."""


class GatewayError(UserError):
    """The gateway cannot be opened as configured."""


class NotReproducible(UserError):  # noqa: N818 - a state of a run, named as such
    """What was done cannot be done again, or checked: what that needs is not there, or not whole."""


class SandboxUnavailable(UserError):  # noqa: N818 - it is a state of the host, named as such
    """This host cannot confine a command as configured."""


class MeasurementError(IncumbentError):
    """A cell could not be measured; the message becomes the row's detail."""


class WorkspaceError(MeasurementError):
    """A template could not be built or a working copy not be made, read or removed."""


class SandboxError(MeasurementError):
    """A command could not be confined or run."""


class GatewayBroken(MeasurementError):  # noqa: N818 - a state of the gateway, named as such
    """The gateway of a run ended, or does not answer."""


class ReviewInvalid(MeasurementError):  # noqa: N818 - a state of what the agent left, named as its kind is
    """A review artifact breaks its contract; the message names the rule."""
