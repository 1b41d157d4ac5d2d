"""The certificate of a suite: what its tasks say of solutions whose worth is known."""

from bench.certificate.command import certify, validate
from bench.certificate.file import require_certificate, write_certificate
from bench.certificate.model import Attempt, SuiteCertificate, TaskCertificate, Tried
from bench.certificate.trying import trying

__all__ = [
    "Attempt",
    "SuiteCertificate",
    "TaskCertificate",
    "Tried",
    "certify",
    "require_certificate",
    "trying",
    "validate",
    "write_certificate",
]
