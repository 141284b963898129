"""64 bytes at a time: one bit per byte for whether it is a space, a letter, a digit …

Portable LLVM vector code, which becomes AVX-512, AVX2 or NEON on the machine that compiles it. A `Test` maps a vector
of 64 bytes to 64 booleans; `masks` turns several tests into one intrinsic `(bytes, offset) -> (uint64, …)`, bit i for
byte offset + i. It reads all 64 bytes, so that many must be readable past the last offset (`buffers.PAD`). LLVM is
imported when code is made (`compile.Lazy`).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from corpusmill.text.compile import intrinsic

Test: TypeAlias = Callable[[Any, Any], Any]


def masks(*tests: Test) -> Any:
    """An intrinsic that loads 64 bytes once and applies every test."""

    @intrinsic
    def load_masks(typingctx: Any, array: Any, offset: Any) -> Any:
        from llvmlite import ir
        from numba import types

        signature = types.UniTuple(types.uint64, len(tests))(array, types.intp)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            base = context.make_array(signature.args[0])(context, builder, args[0]).data
            vector = builder.load(builder.bitcast(builder.gep(base, [args[1]]), _bytes(64).as_pointer()))
            vector.align = 1
            words = [builder.bitcast(test(builder, vector), ir.IntType(64)) for test in tests]
            return context.make_tuple(builder, signature.return_type, words)

        return signature, codegen

    return load_masks


def _bytes(count: int) -> Any:
    """LLVM's type of so many bytes side by side."""
    from llvmlite import ir

    return ir.VectorType(ir.IntType(8), count)


def _splat(byte: int) -> Any:
    from llvmlite import ir

    return ir.Constant(_bytes(64), [byte] * 64)


def between(low: int, high: int) -> Test:
    """low <= byte <= high, unsigned, as one subtraction and one comparison."""
    return lambda builder, v: builder.icmp_unsigned("<=", builder.sub(v, _splat(low)), _splat(high - low))


def equal(character: str) -> Test:
    return lambda builder, v: builder.icmp_unsigned("==", v, _splat(ord(character)))


def letter(small: str) -> Test:
    """Whether it is this letter, small or capital."""
    return lambda builder, v: equal(small)(builder, builder.or_(v, _splat(0x20)))


def either(*tests: Test) -> Test:
    def test(builder: Any, v: Any) -> Any:
        first, *others = (test(builder, v) for test in tests)
        for mask in others:
            first = builder.or_(first, mask)
        return first

    return test


def without(first: Test, second: Test) -> Test:
    """Whether a byte passes the first test and not the second."""
    return lambda builder, v: builder.and_(first(builder, v), builder.not_(second(builder, v)))


def followed(first: Test, second: Test) -> Test:
    """Whether a byte passes the first test and the next byte the second; reads one byte more than the 64."""

    def test(builder: Any, v: Any) -> Any:
        from llvmlite import ir

        base = builder.bitcast(v.operands[0], ir.IntType(8).as_pointer())
        following = builder.load(
            builder.bitcast(builder.gep(base, [ir.Constant(ir.IntType(64), 1)]), _bytes(64).as_pointer())
        )
        following.align = 1
        return builder.and_(first(builder, v), second(builder, following))

    return test


def ascii_letter(builder: Any, v: Any) -> Any:
    return between(ord("a"), ord("z"))(builder, builder.or_(v, _splat(0x20)))


def brace_or_bracket(builder: Any, v: Any) -> Any:
    """] or }."""
    return equal("}")(builder, builder.or_(v, _splat(0x20)))


def comma_or_full_stop(builder: Any, v: Any) -> Any:
    return equal(".")(builder, builder.or_(v, _splat(0x02)))


def continuation(builder: Any, v: Any) -> Any:
    """A byte 10xxxxxx: any but the first of a character."""
    return builder.icmp_unsigned("==", builder.and_(v, _splat(0xC0)), _splat(0x80))


def not_ascii(builder: Any, v: Any) -> Any:
    return builder.icmp_signed("<", v, _splat(0))


ascii_upper = between(ord("A"), ord("Z"))
ascii_digit = between(ord("0"), ord("9"))
ascii_space = either(between(9, 13), between(28, 32))  # as str.isspace
ascii_break = either(between(10, 13), between(28, 30))  # as str.splitlines
ascii_mark = either(between(0x21, 0x2F), between(0x3A, 0x40), between(0x5B, 0x60), between(0x7B, 0x7E))
# The first byte of U+0080-00BF and U+1000-3FFF, which include all other spaces, line breaks, and the ellipsis U+2026.
wide_space_lead = either(between(0xC2, 0xC2), between(0xE1, 0xE3))


def _copy(lower: bool) -> Any:
    """An intrinsic (bytes, offset, bytes, offset) -> 0 that writes source[at:at + 16] to target[place:], if asked with
    ASCII capitals in lower case."""

    @intrinsic
    def copy(typingctx: Any, source: Any, at: Any, target: Any, place: Any) -> Any:
        from llvmlite import ir
        from numba import types

        signature = types.intp(source, types.intp, target, types.intp)
        bytes_16 = _bytes(16)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def splat(value: int) -> Any:
                return ir.Constant(bytes_16, [value] * 16)

            def pointer(array: int) -> Any:
                base = context.make_array(signature.args[array])(context, builder, args[array]).data
                return builder.bitcast(builder.gep(base, [args[array + 1]]), bytes_16.as_pointer())

            vector = builder.load(pointer(0))
            vector.align = 1
            if lower:
                capital = builder.icmp_unsigned("<=", builder.sub(vector, splat(ord("A"))), splat(25))
                vector = builder.or_(vector, builder.select(capital, splat(0x20), splat(0)))
            builder.store(vector, pointer(2)).align = 1
            return context.get_constant(types.intp, 0)

        return signature, codegen

    return copy


copy_16, copy_16_lower = _copy(lower=False), _copy(lower=True)
