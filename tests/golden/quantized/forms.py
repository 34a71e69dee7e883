"""The quantized forms of make_quantized.py: codes and scales by the packages that users have.

Each form makes of a float32 matrix [N][K] the tensors that a checkpoint has in its place, and the
matrix that they stand for. Scales of 16 bits are widened to float32 before the package multiplies by
them, so that it does not round the product to 16 bits as well: the result is exact.
"""

import math
import zlib
from dataclasses import dataclass
from types import SimpleNamespace

import gptqmodel
import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams, maybe_pad_tensor_for_block_quant
from gptqmodel.nn_modules.qlinear.torch import TorchLinear
from gptqmodel.quantization.config import FORMAT, QuantizeConfig
from gptqmodel.quantization.quantizer import Quantizer
from gptqmodel.utils.model import convert_gptq_v2_to_v1_format_module
from transformers import FineGrainedFP8Config
from transformers.integrations.finegrained_fp8 import Fp8Dequantize, Fp8Quantize


@dataclass(frozen=True)
class Gptq:
    """gptqmodel: rounds to the nearest code, packs, and reads its own words."""

    bits: int
    version: str  # "gptq", whose zero points are stored less one, or "gptq_v2"
    ordered: bool = False  # groups of inputs in any order, as act-order makes them
    group_size: int = 32
    dtype: torch.dtype = torch.float16  # of what is not quantized
    scale_dtype: torch.dtype = torch.float16

    def options(self):
        return QuantizeConfig(
            bits=self.bits,
            group_size=self.group_size,
            desc_act=self.ordered,
            act_group_aware=False,
            sym=False,
            format=FORMAT(self.version),
        )

    def config(self):
        # Of its settings, which have paths of this machine, only what it needs to read the file.
        meta = {"quantizer": [f"gptqmodel:{gptqmodel.__version__}"]}
        return self.options().to_dict() | {"meta": meta}

    def groups_of_inputs(self, name, inputs):
        natural = torch.arange(inputs, dtype=torch.int32) // self.group_size
        if not self.ordered:
            return natural
        generator = torch.Generator().manual_seed(zlib.crc32(f"{name}/g_idx".encode()))
        return natural[torch.randperm(inputs, generator=generator)]

    def scales_and_zeros(self, weight, groups):
        """Both [N][G]."""
        scales, zeros = [], []
        for group in range(int(groups.max()) + 1):
            quantizer = Quantizer(self.options())
            quantizer.configure(perchannel=True)
            quantizer.find_params(weight[:, groups == group], weight=True)
            scales.append(quantizer.scale.flatten().half().float())
            zeros.append(quantizer.zero.flatten())
        return torch.stack(scales, dim=1), torch.stack(zeros, dim=1)

    def quantize(self, name, weight):
        outputs, inputs = weight.shape
        weight = with_rows_of_one_sign(weight, self.group_size)
        groups = self.groups_of_inputs(name, inputs)
        scales, zeros = self.scales_and_zeros(weight, groups)
        packed = TorchLinear(
            bits=self.bits,
            group_size=self.group_size,
            sym=False,
            desc_act=self.ordered,
            in_features=inputs,
            out_features=outputs,
        )
        linear = torch.nn.Linear(inputs, outputs, bias=False)
        linear.weight.data = weight
        packed.pack_original(linear, scales, zeros, groups)
        packed.eval()
        stored = packed.scales
        packed.scales = stored.float()
        plain = packed.dequantize_weight().T.contiguous()
        packed.scales = stored
        if self.version == "gptq":
            packed.qzero_format(format=2)
            convert_gptq_v2_to_v1_format_module(packed, self.options())
        return {f".{key}": tensor.clone() for key, tensor in packed.state_dict().items()}, plain


def with_rows_of_one_sign(weight, group_size):
    """Some groups without negative weights, whose zero point is 0, and some without others."""
    weight = weight.clone()
    weight[5] = weight[5].abs()
    weight[10, :group_size] = weight[10, :group_size].abs()
    weight[17] = -weight[17].abs()
    return weight


@dataclass(frozen=True)
class Compressed:
    """compressed-tensors: its compressor and its decompressor."""

    format: str
    weights: dict
    dtype: torch.dtype = torch.bfloat16
    scale_dtype: torch.dtype = torch.bfloat16

    def scheme(self):
        kind = "int" if self.format == "pack-quantized" else "float"
        weights = QuantizationArgs(type=kind, **self.weights)
        activations = None
        if kind == "float":
            activations = QuantizationArgs(num_bits=8, type=kind, strategy="token", dynamic=True)
        return QuantizationScheme(
            targets=["Linear"], weights=weights, input_activations=activations, format=self.format
        )

    def config(self):
        groups = {"group_0": self.scheme()}
        config = QuantizationConfig(
            config_groups=groups,
            format=self.format,
            ignore=["lm_head"],
            quantization_status="compressed",
        )
        return config.model_dump(mode="json")

    def extremes(self, weight, args):
        """The least and the largest weight of each group, row or block, in the shape of the scales."""
        if args.strategy == "block":
            rows, columns = args.block_structure
            padded = maybe_pad_tensor_for_block_quant(weight, args.block_structure)
            blocks = padded.unflatten(1, (-1, columns)).unflatten(0, (-1, rows))
            return blocks.amin(dim=(1, 3)), blocks.amax(dim=(1, 3))
        size = args.group_size if args.strategy == "group" else weight.shape[1]
        parts = weight.unflatten(1, (-1, size))
        return parts.amin(dim=2), parts.amax(dim=2)

    def quantize(self, name, weight):
        scheme = self.scheme()
        scale, zero_point = calculate_qparams(*self.extremes(weight, scheme.weights), scheme.weights)
        module = {"weight": weight, "weight_scale": scale.to(self.scale_dtype)}
        if not scheme.weights.symmetric:
            module["weight_zero_point"] = zero_point
        compressor = BaseCompressor.get_value_from_registry(self.format)
        stored = compressor.compress(module, scheme)
        wide = stored | {"weight_scale": stored["weight_scale"].float()}
        plain = compressor.decompress(wide, scheme)["weight"]
        return {f".{key}": tensor for key, tensor in stored.items()}, plain


@dataclass(frozen=True)
class FineGrained:
    """transformers' own FP8 in blocks, in the words of DeepSeek-V3."""

    block: tuple
    dtype: torch.dtype = torch.bfloat16
    scale_dtype: torch.dtype = torch.float32

    def config(self):
        return FineGrainedFP8Config(weight_block_size=self.block).to_dict()

    def quantize(self, name, weight):
        # A matrix below the size of a block is one block.
        block = tuple(min(side, size) for side, size in zip(self.block, weight.shape))
        options = SimpleNamespace(weight_block_size=block, scale_fmt="float")
        quantizer = SimpleNamespace(quantization_config=options)
        stored = Fp8Quantize(quantizer).convert({"x.weight": weight})
        assert stored["x.weight_scale_inv"].shape == tuple(
            math.ceil(size / side) for side, size in zip(self.block, weight.shape)
        )
        read = {key.removeprefix("x."): tensor for key, tensor in stored.items()}
        plain = Fp8Dequantize(quantizer).convert(read)["weight"]
        return {key.removeprefix("x"): tensor for key, tensor in stored.items()}, plain
