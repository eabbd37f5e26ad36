package possession

import (
	"math/big"
	"slices"
)

// The standard library takes any 32 bytes for an Ed25519 key: what is no point makes every signature
// bad, and for a point of small order anybody can make good ones. So points are judged here, once,
// when a key is read. This needs no constant time: the numbers are public.

// prime is 2^255 - 19. curveD is -121665/121666 (RFC 8032, 5.1).
var (
	prime  = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	curveD = func() *big.Int {
		d := new(big.Int).ModInverse(big.NewInt(121666), prime)
		return d.Mod(d.Mul(d, big.NewInt(-121665)), prime)
	}()
	one = big.NewInt(1)
)

// smallOrder are the y of the eight points whose order divides eight: one, minus one, zero, and the
// two of order eight. The points of the last three differ in the sign of x.
var smallOrder = []*big.Int{
	one,
	new(big.Int).Sub(prime, one),
	new(big.Int),
	hexadecimal("05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826"),
	hexadecimal("7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7"),
}

func hexadecimal(digits string) *big.Int {
	number, _ := new(big.Int).SetString(digits, 16)
	return number
}

// checkEdwards judges the 32 bytes of an Ed25519 key: y in its one form (below the prime), on the
// curve -x^2 + y^2 = 1 + d x^2 y^2, and not of small order.
func checkEdwards(encoded []byte) error {
	bytes := slices.Clone(encoded)
	bytes[coordinateSize-1] &= 0x7f // The sign of x.
	slices.Reverse(bytes)
	y := new(big.Int).SetBytes(bytes)
	if y.Cmp(prime) >= 0 {
		return &KeyError{FaultPoint, "it is not in the canonical form of a point"}
	}
	if slices.ContainsFunc(smallOrder, func(small *big.Int) bool { return y.Cmp(small) == 0 }) {
		return &KeyError{FaultOrder, "a point of small order: anybody can sign for it"}
	}
	// x^2 = (y^2 - 1) / (d y^2 + 1) is a square exactly if the product of both sides of the bar is.
	square := new(big.Int).Mul(y, y)
	below := new(big.Int).Mul(curveD, square)
	product := below.Mul(below.Add(below, one), square.Sub(square, one))
	if big.Jacobi(product.Mod(product, prime), prime) != 1 {
		return &KeyError{FaultPoint, "it is not a point of Ed25519"}
	}
	return nil
}
