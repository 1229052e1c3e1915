"""A scripted PyTorch module under tierup: a small detector, which finds boxes with a network and keeps those that overlap no better one.

    python examples/torchscript.py

The second part is a loop whose length hangs on the data. PyTorch's eager mode is the judge of every call.
"""

from __future__ import annotations

import torch
from torch import nn

import tierup


class Detector(nn.Module):
    """Eight candidate boxes per image; the best ones that overlap by less than `limit`."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.corners, self.score = nn.Linear(128, 32), nn.Linear(128, 8)

    def candidates(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.body(image.unsqueeze(0))
        corner, size = torch.sigmoid(3 * self.corners(x)).view(8, 4).split(2, dim=1)
        return torch.cat([corner, corner + 0.5 * size], dim=1), torch.sigmoid(self.score(x)).view(8)

    def forward(self, image: torch.Tensor, limit: float) -> dict[str, torch.Tensor]:
        if image.dim() != 3:
            raise ValueError(f"one image of three dimensions, not {image.dim()}")
        boxes, scores = self.candidates(image)
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        order = torch.argsort(scores, descending=True)
        kept: list[torch.Tensor] = []
        while order.numel() > 0:
            best, rest = order[0], order[1:]
            kept.append(best)
            low = torch.maximum(boxes[rest, :2], boxes[best, :2])
            high = torch.minimum(boxes[rest, 2:], boxes[best, 2:])
            side = (high - low).clamp(min=0.0)
            shared = side[:, 0] * side[:, 1]
            order = rest[shared / (area[rest] + area[best] - shared) <= limit]
        found = torch.stack(kept)
        return {"boxes": boxes[found], "scores": scores[found]}


def main(calls: int = 6) -> tierup.torch.TorchFunction:
    """Call the scripted module and ours on random images; print what answered each call. The function, for its account."""
    torch.manual_seed(0)
    model = Detector().eval()
    ours = tierup.torch.from_torchscript(torch.jit.script(model))
    before = ours.stats()
    with torch.no_grad():
        for call in range(1, calls + 1):
            image = 5 * torch.randn(3, 16, 16)
            expected, got = model(image, 0.3), ours(image, 0.3)
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
            now = ours.stats()
            way = "native code" if now.hits > before.hits else "tier 0, recording"
            print(f"call {call}: {len(got['scores'])} boxes kept, by {way}")
            before = now
        try:
            ours(torch.zeros(2, 3, 16, 16), 0.3)
        except ValueError as e:
            print(f"a batch: ValueError: {e}")
    return ours


if __name__ == "__main__":
    print(main().explain())
