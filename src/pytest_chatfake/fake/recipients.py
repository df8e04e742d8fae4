"""The people at the other end."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.arguments import check_int, check_str, cited
from ..domain.messages import MAX_DEVICES


@dataclass(frozen=True, slots=True)
class Recipient:
    """A person who gets messages, as ``chat_fake.recipient()`` returned it.

    Attributes:
        address: Where messages go.
        devices: How many devices the person uses; ``deliver()`` reaches all of them (§3).
        read_receipts: Whether the service learns of reading (§3 rule 3).
    """

    address: str
    devices: int = 1
    read_receipts: bool = True

    def __post_init__(self) -> None:
        check_str(self.address, "a recipient's address")
        check_int(self.devices, "devices", 1, MAX_DEVICES)
        if not isinstance(self.read_receipts, bool):
            raise TypeError(f"read_receipts must be True or False, not {cited(self.read_receipts)}")
