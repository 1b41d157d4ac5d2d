"""The certificate of a suite: what its tasks say of solutions whose worth is known."""

from bench.certificate.command import validate
from bench.certificate.file import require_certificate
from bench.certificate.model import Attempt, SuiteCertificate, TaskCertificate, Tried

__all__ = ["Attempt", "SuiteCertificate", "TaskCertificate", "Tried", "require_certificate", "validate"]
