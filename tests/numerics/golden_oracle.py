"""Computes golden_hashes.txt independently of any compiler, FPU or libm.

Usage: golden_oracle.py            prints the hashes
       golden_oracle.py FILE       exits 1 unless FILE holds exactly these hashes

Every operation of the canonical tier is evaluated in exact rational arithmetic
(fractions.Fraction) and rounded once to the nearest float or double, ties to
even, which is what IEEE 754 says it must be. Inputs and lines are those of golden_hashes.cc.
Needs the standard library of Python 3.9 alone; takes a few seconds.
"""

import math
import struct
import sys
from fractions import Fraction

INF = math.inf
INPUTS = 2048
MASK = 0xFFFFFFFF


# ---- Rounding. Numbers are Python floats that hold exact float32 values. ----


def rounded(x, bits=24, lowest=-149):
    """The Fraction x rounded to `bits` of mantissa, not below 2^lowest; overflow is not expected."""
    if x == 0:
        return 0.0
    sign, x = (-1, -x) if x < 0 else (1, x)
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** exponent > x:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - bits + 1, lowest)
    count, rest = divmod(x, unit)
    if 2 * rest > unit or (2 * rest == unit and count % 2):
        count += 1
    return float(sign * count * unit)


def fma(a, b, c):
    return rounded(Fraction(a) * Fraction(b) + Fraction(c))


def add(a, b):
    return a + b if math.isinf(a) or math.isinf(b) else rounded(Fraction(a) + Fraction(b))


def sub(a, b):
    return add(a, -b)


def mul(a, b):
    return rounded(Fraction(a) * Fraction(b))


def div(a, b):
    if math.isinf(b):
        return math.copysign(0.0, a) * math.copysign(1.0, b)
    if b == 0:
        return math.copysign(INF, a)
    return rounded(Fraction(a) / Fraction(b))


def sqrt(x):
    """Correctly rounded: an integer square root with 40 bits to spare and a sticky bit."""
    if x == 0:
        return 0.0
    x = Fraction(x)
    shift = 260
    scaled = x.numerator * 4**shift
    root = math.isqrt(scaled // x.denominator)
    sticky = root * root * x.denominator != scaled
    return rounded(Fraction(2 * root + sticky, 2 ** (shift + 1)))


def bits_of(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def float_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def h(text):
    return float.fromhex(text)


# ---- The definitions of canonical.h, philox.h, rotary.h, reference.h, attention.h. ----

LN2_HIGH, LN2_LOW = h("0x1.62e4p-1"), h("0x1.7f7d1cp-20")


def exp(x):
    if x > h("0x1.62e42ep+6"):
        return INF
    if x < h("-0x1.5d589ep+6"):
        return 0.0
    shifted = fma(x, h("0x1.715476p+0"), h("0x1.8p+23"))
    n = sub(shifted, h("0x1.8p+23"))
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    p = fma(r, h("0x1.6a244ap-10"), h("0x1.1239d6p-7"))
    for c in ("0x1.5558f2p-5", "0x1.555492p-3", "0x1.fffffcp-2"):
        p = fma(r, p, h(c))
    head = add(1.0, r)
    tail = sub(r, sub(head, 1.0))
    p = add(head, fma(mul(r, r), p, tail))
    return rounded(Fraction(p) * Fraction(2) ** int(n))


LOG_COEFFICIENTS = (
    "-0x1.383022p-4", "0x1.084864p-3", "-0x1.0f3766p-3", "0x1.22719cp-3", "-0x1.54276ep-3",
    "0x1.99a3f2p-3", "-0x1.000426p-2", "0x1.555550p-2", "-0x1.fffff8p-2",
)  # fmt: skip


def log(x):
    if x == 0:
        return -INF
    m, n = math.frexp(x)  # in [1/2, 1)
    if m < float_of(0x3F3504F3):  # sqrt(1/2)
        m, n = 2 * m, n - 1
    f = sub(m, 1.0)
    n = float(n)
    p = h(LOG_COEFFICIENTS[0])
    for c in LOG_COEFFICIENTS[1:]:
        p = fma(f, p, h(c))
    low = fma(mul(f, f), p, mul(n, LN2_LOW))
    return fma(n, LN2_HIGH, add(f, low))


def silu(x):
    return div(x, add(1.0, exp(-x)))


def rsqrt(x):
    return div(1.0, sqrt(x))


def tree_sum(lanes):
    lanes = list(lanes)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [add(lanes[i], lanes[i + half]) for i in range(half)]
    return lanes[0]


def sum_of(x):
    lanes = [0.0] * 32
    for i, value in enumerate(x):
        lanes[i % 32] = add(lanes[i % 32], value)
    return tree_sum(lanes)


def sum_of_squares(x):
    lanes = [0.0] * 32
    for i, value in enumerate(x):
        lanes[i % 32] = fma(value, value, lanes[i % 32])
    return tree_sum(lanes)


def chain(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total = fma(x, y, total)
    return total


def product(a, b):
    total = None
    for first in range(0, len(a), 256):
        segment = chain(a[first : first + 256], b[first : first + 256])
        total = segment if total is None else add(total, segment)
    return total


def philox(counter, key):
    c = list(counter)
    k0, k1 = key & MASK, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


def uniform_open(word):
    return float(Fraction(2 * (word >> 9) + 1, 2**24))


def fma64(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))  # rounds correctly


def log_double(x):
    m, n = math.frexp(x)
    if m < h("0x1.6a09e667f3bcdp-1"):
        m, n = 2 * m, n - 1
    s = (m - 1.0) / (m + 1.0)
    series = 0.0
    for k in range(23, 0, -2):
        series = fma64(series, s * s, 1.0 / k)
    return fma64(float(n), h("0x1.62e42fefa39efp-1"), 2.0 * s * series)


def exp_double(x):
    n = fma64(x, h("0x1.71547652b82fep+0"), h("0x1.8p+52")) - h("0x1.8p+52")
    r = fma64(-n, h("0x1.abc9e3b39803fp-56"), fma64(-n, h("0x1.62e42fefa39efp-1"), x))
    y = 1.0
    for k in range(14, 0, -1):
        y = fma64(y, r / k, 1.0)
    return math.ldexp(y, int(n))


def rotary_frequency(base, pair, head_size):
    return exp_double(-2.0 * pair / head_size * log_double(base))


def sincos(angle):
    n = fma64(angle, h("0x1.45f306dc9c883p-1"), h("0x1.8p+52")) - h("0x1.8p+52")
    r = angle
    for part in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"):
        r = fma64(-n, h(part), r)
    z = -(r * r)
    sin = cos = 1.0
    for k in range(16, 0, -2):
        sin = fma64(sin, z / (k * (k + 1.0)), 1.0)
        cos = fma64(cos, z / (k * (k - 1.0)), 1.0)
    sin = sin * r
    values = ((sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin))[int(n) % 4]
    return tuple(rounded(Fraction(value)) for value in values)


def rms_norm(x, weight, eps):
    scale = rsqrt(add(div(sum_of_squares(x), float(len(x))), eps))
    return [mul(mul(a, scale), w) for a, w in zip(x, weight)]


def rotate_pairs(head, cos, sin):
    half = len(cos)
    first = [fma(head[i], cos[i], -mul(head[i + half], sin[i])) for i in range(half)]
    second = [fma(head[i + half], cos[i], mul(head[i], sin[i])) for i in range(half)]
    return first + second


def attention_segment(q, keys, values, scale):
    scores = [mul(chain(q, key), scale) for key in keys]
    m = max(scores)
    p = [exp(sub(score, m)) for score in scores]
    return m, sum_of(p), [chain(p, [v[d] for v in values]) for d in range(len(q))]


def attention(q, keys, values, scale):
    total = None
    for first in range(0, len(keys), 256):
        part = slice(first, first + 256)
        segment = attention_segment(q, keys[part], values[part], scale)
        if total is None:
            total = segment
            continue
        m = max(total[0], segment[0])
        e, f = exp(sub(total[0], m)), exp(sub(segment[0], m))
        a = [fma(old, e, mul(new, f)) for old, new in zip(total[2], segment[2])]
        total = m, fma(total[1], e, mul(segment[1], f)), a
    return [div(a, total[1]) for a in total[2]]


# ---- Inputs and lines of golden_hashes.cc. ----


class Hash:
    def __init__(self):
        self.state = 14695981039346656037

    def add(self, *items):
        for item in items:
            word = bits_of(item) if isinstance(item, float) else item
            for byte in word.to_bytes(8, "little"):
                self.state = ((self.state ^ byte) * 1099511628211) & (2**64 - 1)
        return self

    def line(self, name):
        return f"{name} {self.state:016x}"


def word(index, stream):
    return philox((index, 0, 0, 0), stream)[0]


def value(index, stream, span):
    return (uniform_open(word(index, stream)) - 0.5) * 2.0 * span


def values(count, stream, span):
    return [value(i, stream, span) for i in range(count)]


def any_positive(index, stream):
    return float_of(word(index, stream) % 0x7F800000)


def function_line(name, function):
    return Hash().add(*(function(i) for i in range(INPUTS))).line(name)


def philox_line():
    total = Hash()
    for i in range(INPUTS):
        counter = (i, i * i & MASK, ~i & MASK, 7)
        for random in philox(counter, 0x0123456789ABCDEF + i):
            total.add(random, uniform_open(random))
    return total.line("philox")


def rotary_line():
    total = Hash()
    for position in range(0, 4096, 61):
        for pair in range(16):
            total.add(*sincos(position * rotary_frequency(10000.0, pair, 32)))
    return total.line("rotary")


def reduction_lines():
    sums, squares, products = Hash(), Hash(), Hash()
    for n in range(1, 700, 37):
        x, w = values(n, n, 8.0), values(n, n + 1000, 1.0)
        sums.add(sum_of(x))
        squares.add(sum_of_squares(x))
        products.add(product(x, w))
    return [sums.line("sum"), squares.line("sum_of_squares"), products.line("product")]


def row_lines():
    x, weight = values(100, 1, 4.0), values(100, 2, 1.0)
    eps = rounded(Fraction("1e-5"))
    return [
        Hash().add(*rms_norm(x, weight, eps)).line("rms_norm"),
        Hash().add(*(mul(silu(a), b) for a, b in zip(x, weight))).line("silu_multiply"),
        Hash().add(*rotate_pairs(x, weight[:50], weight[50:])).line("rotate_pairs"),
    ]


def attention_line():
    size, length = 8, 520
    pool = values(2 * size * length, 2, 2.0)
    keys = [[pool[d * length + j] for d in range(size)] for j in range(length)]
    rows = [pool[(length + j) * size : (length + j + 1) * size] for j in range(length)]
    return Hash().add(*attention(values(size, 1, 4.0), keys, rows, 0.25)).line("attention")


def main():
    lines = [
        philox_line(),
        function_line("exp", lambda i: exp(value(i, 3, 128.0))),
        function_line("log", lambda i: log(any_positive(i, 4))),
        function_line("silu", lambda i: silu(value(i, 5, 128.0))),
        function_line("rsqrt", lambda i: rsqrt(any_positive(i, 6))),
        rotary_line(),
        *reduction_lines(),
        *row_lines(),
        attention_line(),
    ]
    text = "\n".join(lines) + "\n"
    if len(sys.argv) == 1:
        sys.stdout.write(text)
        return
    with open(sys.argv[1], encoding="ascii") as file:
        if file.read() != text:
            sys.exit(f"{sys.argv[1]} differs from what exact arithmetic gives:\n{text}")


if __name__ == "__main__":
    main()
