"""Networks as PyTorch's users write them, small ones: measured by torch_programs.py, tested by test/torch_programs."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Perceptron(nn.Module):
    """Three layers with dropout between them."""

    def __init__(self, inputs: int = 8, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, width), nn.GELU(), nn.Linear(width, classes)
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.log_softmax(self.layers(x), dim=-1)


class Residual(nn.Module):
    """The block of ResNet-18 (He et al., 2015): two convolutions and what goes around them."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """A stem, residual blocks and a classifier."""

    def __init__(self, width: int = 4, classes: int = 5) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2))
        self.blocks = nn.Sequential(Residual(width, width, 1), Residual(width, 2 * width, 2))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.stem(x))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class LSTM(nn.Module):
    """Gates and loop spelled out; all hidden states, and the last of h and c."""

    def __init__(self, inputs: int = 4, hidden: int = 6) -> None:
        super().__init__()
        self.hidden = hidden
        self.x, self.h = nn.Linear(inputs, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        c = torch.zeros_like(h)
        states: list[Tensor] = []
        for t in range(x.size(0)):
            i, f, g, o = (self.x(x[t]) + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states), (h, c)


class GRU(nn.Module):
    """The loop over time writes into a tensor of results, in place."""

    def __init__(self, inputs: int = 4, hidden: int = 6) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(inputs, 3 * hidden), nn.Linear(hidden, 3 * hidden)
        self.hidden = hidden

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        out = torch.zeros(x.size(0), x.size(1), self.hidden, dtype=x.dtype)
        for t in range(x.size(0)):
            xr, xz, xn = self.x(x[t]).chunk(3, 1)
            hr, hz, hn = self.h(h).chunk(3, 1)
            reset, update = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
            candidate = torch.tanh(xn + reset * hn)
            h = update * h + (1 - update) * candidate
            out[t] = h
        return out


class SelfAttention(nn.Module):
    """Several heads at once (Vaswani et al., 2017)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        weights = torch.softmax(scores.masked_fill(~mask[:, None, None, :], float("-inf")), -1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.down(F.relu(self.up(x))))


class Encoder(nn.Module):
    """Tokens, their positions, and layers over them; `mask` is True where a token stands."""

    def __init__(self, tokens: int = 11, width: int = 8, heads: int = 2, layers: int = 2, longest: int = 32) -> None:
        super().__init__()
        self.embedding, self.position = nn.Embedding(tokens, width), nn.Embedding(longest, width)
        self.layers = nn.ModuleList([EncoderLayer(width, heads) for _ in range(layers)])

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.position(torch.arange(tokens.size(1)))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Decoder(nn.Module):
    """One layer that generates: keys and values of what came before are a cache that is handed in and out."""

    def __init__(self, width: int = 8, heads: int = 2, tokens: int = 11) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(tokens, width)
        self.qkv, self.out, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)

    def forward(self, tokens: Tensor, cache: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        x = self.embedding(tokens)
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        causal = torch.ones(length, k.size(2), dtype=torch.bool).tril(k.size(2) - length)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=causal)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return self.head(x), (k, v)


class GPT2Block(nn.Module):
    """A block of GPT-2 (Radford et al., 2019): norms before, gelu in its tanh form, causal attention."""

    def __init__(self, width: int = 12, heads: int = 3) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, 2)
        q = q.view(batch, length, self.heads, -1).transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Experts(nn.Module):
    """A mixture of experts: each token goes to the two that its gate prefers."""

    def __init__(self, width: int = 6, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) / width)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) / width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, chosen = torch.topk(torch.softmax(self.gate(x), -1), 2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        shares = torch.zeros(x.size(0), self.gate.weight.size(0), dtype=x.dtype).scatter(1, chosen, weights)
        each = torch.einsum("eth,ehw->etw", F.silu(torch.einsum("tw,ewh->eth", x, self.up)), self.down)
        return torch.einsum("te,etw->tw", shares, each), chosen


class UNet(nn.Module):
    """Down, up, and the skip connection between (Ronneberger et al., 2015)."""

    def __init__(self, channels: int = 3, width: int = 4) -> None:
        super().__init__()
        self.inside = nn.Conv2d(channels, width, 3, padding=1)
        self.below = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.norm = nn.GroupNorm(2, 2 * width)
        self.out = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = F.silu(self.inside(x))
        up = self.up(F.silu(self.below(F.max_pool2d(skip, 2))))
        return self.out(F.silu(self.norm(torch.cat([skip, up], 1))))


class VAE(nn.Module):
    """A variational autoencoder (Kingma and Welling, 2013): the sample is noise that is scaled and moved."""

    def __init__(self, inputs: int = 10, latent: int = 3) -> None:
        super().__init__()
        self.inside, self.mean, self.log_variance = nn.Linear(inputs, 8), nn.Linear(8, latent), nn.Linear(8, latent)
        self.outside = nn.Sequential(nn.Linear(latent, 8), nn.ReLU(), nn.Linear(8, inputs))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.inside(x))
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        divergence = -0.5 * torch.sum(1 + log_variance - mean * mean - log_variance.exp())
        return torch.sigmoid(self.outside(z)), divergence


def suppress(boxes: Tensor, scores: Tensor, threshold: float = 0.5) -> Tensor:
    """Non-maximum suppression: the indices of boxes that no better one overlaps by more than the threshold."""
    order = torch.argsort(scores, descending=True)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    while order.numel() > 0:
        best = int(order[0])
        kept.append(best)
        rest = order[1:]
        corner = torch.maximum(boxes[best, :2], boxes[rest, :2])
        other = torch.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = (other - corner).clamp(min=0).prod(1)
        overlap = shared / (area[best] + area[rest] - shared)
        order = rest[overlap <= threshold]
    return torch.tensor(kept, dtype=torch.long)


def greedy(scores: Tensor, limit: int) -> tuple[Tensor, int]:
    """Greedy decoding that stops at the end token, 0: a loop whose length the data decide."""
    state = torch.zeros(scores.size(0))
    steps = 0
    token = -1
    while token != 0 and steps < limit:
        state = torch.tanh(scores @ state + scores[steps % scores.size(0)])
        token = int(state.argmax())
        steps += 1
    return state, steps


class Hidden(nn.Module):
    """A model of `transformers` as a function from tensors to its last hidden state."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.model(*inputs).last_hidden_state


def bert(width: int = 8, heads: int = 2, inner: int = 16) -> nn.Module:
    """Raises ImportError where `transformers` is not installed."""
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": heads, "intermediate_size": inner}
    return Hidden(BertModel(BertConfig(vocab_size=11, max_position_embeddings=32, **sizes), add_pooling_layer=False))


def gpt2() -> nn.Module:
    """Raises ImportError where `transformers` is not installed."""
    from transformers import GPT2Config, GPT2Model

    return Hidden(GPT2Model(GPT2Config(vocab_size=11, n_embd=8, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0)))
