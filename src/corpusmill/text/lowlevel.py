"""Instructions that numba lacks: unaligned loads, the 128-bit product, bit counting.

Loads are little-endian, unchecked, and need no alignment. Numba and LLVM are imported when code is made
(`compile.Lazy`).
"""

from functools import partial
from typing import Any, TypeAlias

import numpy as np

from corpusmill.text.compile import inlined, intrinsic

Bits: TypeAlias = Any  # a uint64 scalar in a kernel, where numba's types apply and not NumPy's
U = np.uint64
ONE = U(1)
NO_BITS = U(0)
ALL_BITS = U(0xFFFFFFFFFFFFFFFF)


def _loader(bits: int) -> Any:
    @intrinsic
    def load(typingctx: Any, array: Any, offset: Any) -> Any:
        from llvmlite import ir
        from numba import types

        signature = getattr(types, f"uint{bits}")(array, types.intp)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = context.make_array(signature.args[0])(context, builder, args[0]).data
            pointer = builder.gep(base, [args[1]])
            value = builder.load(builder.bitcast(pointer, ir.IntType(bits).as_pointer()))
            value.align = 1
            return value

        return signature, codegen

    return load


load8 = _loader(8)  # (bytes, offset) -> uint8; unlike an index, never wraps a negative offset
load32 = _loader(32)
load64 = _loader(64)


@intrinsic
def high_product(typingctx: Any, a: Any, b: Any) -> Any:
    """(uint64, uint64) -> the high 64 bits of their 128-bit product."""
    from llvmlite import ir
    from numba import types

    signature = types.uint64(types.uint64, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return signature, codegen


@intrinsic
def lowest_bit(typingctx: Any, x: Any) -> Any:
    """uint64 -> index of its lowest set bit, 64 if there is none."""
    from llvmlite import ir
    from numba import types

    signature = types.intp(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen


@intrinsic
def highest_zeros(typingctx: Any, x: Any) -> Any:
    """uint64 -> how many of its highest bits are not set."""
    from llvmlite import ir
    from numba import types

    signature = types.intp(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen


@intrinsic
def count_bits(typingctx: Any, x: Any) -> Any:
    """uint64 -> how many of its bits are set."""
    from numba import types

    signature = types.intp(types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return signature, codegen


@intrinsic
def copy_bytes(typingctx: Any, source: Any, start: Any, size: Any, target: Any, position: Any) -> Any:
    """target[position:position + size] = source[start:start + size]; they must not overlap."""
    from numba import types
    from numba.core import cgutils

    signature = types.void(source, types.intp, types.intp, target, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def pointer(array: int, offset: int) -> Any:
            base = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.gep(base, [args[offset]])

        cgutils.raw_memcpy(builder, pointer(3, 4), pointer(0, 1), args[2], 1)
        return context.get_dummy_value()

    return signature, codegen


@inlined
def is_letter(byte: Any) -> Any:
    """Whether a byte is an ASCII letter."""
    return 97 <= (byte | 0x20) <= 122


@inlined
def is_digit(byte: Any) -> Any:
    """Whether a byte is an ASCII digit."""
    return 48 <= byte <= 57


@inlined
def moved_up(bits: Bits, before: Bits, by: int) -> Bits:
    """A 64-bit map shifted up by `by` positions and filled from the map of the 64 positions before."""
    return (bits << U(by)) | (before >> U(64 - by))


@partial(intrinsic, in_python=lambda array: array)
def borrowed(typingctx: Any, array: Any) -> Any:
    """The same array without an owner: references to it are not counted, which kernels that pass a dozen arrays from
    function to function spend most of their time on. The caller keeps the array."""
    from numba.core import cgutils

    signature = array(array)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        return view._getvalue()

    return signature, codegen


@partial(intrinsic, in_python=lambda array, offset: None)
def prefetch(typingctx: Any, array: Any, offset: Any) -> Any:
    """(bytes of any type, offset) -> nothing: have the 64 bytes around there brought near while something else is
    computed. Where a table is larger than the caches, and its rows are read in an order that nothing foretells, most of
    the time is waiting."""
    from llvmlite import ir
    from numba import types

    signature = types.void(array, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        word, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", (pointer,), kind)
        # For reading, to be kept in all caches, data and not code.
        builder.call(function, [builder.bitcast(builder.gep(data, [args[1]]), pointer), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return signature, codegen
