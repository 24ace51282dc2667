package audio

import "math/bits"

// G.711, both laws (ITU-T G.711), by tables: 256 entries to decode, 65,536 to encode.
var (
	ulawToLinear, alawToLinear [256]int16
	linearToUlaw, linearToAlaw [65536]byte
)

func init() {
	for i := range 256 {
		ulawToLinear[i] = decodeUlaw(byte(i))
		alawToLinear[i] = decodeAlaw(byte(i))
	}
	for i := range 65536 {
		linearToUlaw[i] = encodeUlaw(int16(uint16(i)))
		linearToAlaw[i] = encodeAlaw(int16(uint16(i)))
	}
}

// DecodeUlaw appends the samples of µ-law bytes to dst.
func DecodeUlaw(dst []int16, wire []byte) []int16 {
	for _, b := range wire {
		dst = append(dst, ulawToLinear[b])
	}
	return dst
}

// EncodeUlaw appends the µ-law bytes of samples to dst.
func EncodeUlaw(dst []byte, pcm []int16) []byte {
	for _, s := range pcm {
		dst = append(dst, linearToUlaw[uint16(s)])
	}
	return dst
}

// DecodeAlaw appends the samples of A-law bytes to dst.
func DecodeAlaw(dst []int16, wire []byte) []int16 {
	for _, b := range wire {
		dst = append(dst, alawToLinear[b])
	}
	return dst
}

// EncodeAlaw appends the A-law bytes of samples to dst.
func EncodeAlaw(dst []byte, pcm []int16) []byte {
	for _, s := range pcm {
		dst = append(dst, linearToAlaw[uint16(s)])
	}
	return dst
}

// µ-law works on 14 bit magnitudes with a bias of 33, here both shifted left by two.
const (
	ulawBias = 33 << 2
	ulawClip = 8158 << 2
)

func decodeUlaw(b byte) int16 {
	b = ^b
	exponent := int(b>>4) & 7
	magnitude := (int(b&0x0f)<<3+ulawBias)<<exponent - ulawBias
	if b&0x80 != 0 {
		return int16(-magnitude)
	}
	return int16(magnitude)
}

func encodeUlaw(s int16) byte {
	magnitude, sign := int(s), byte(0)
	if magnitude < 0 {
		magnitude, sign = -magnitude, 0x80
	}
	magnitude = min(magnitude, ulawClip) + ulawBias
	exponent := bits.Len(uint(magnitude)) - 8
	return ^(sign | byte(exponent)<<4 | byte(magnitude>>(exponent+3))&0x0f)
}

func decodeAlaw(b byte) int16 {
	b ^= 0x55
	exponent, magnitude := int(b>>4)&7, int(b&0x0f)<<4+8
	if exponent > 0 {
		magnitude = (magnitude + 0x100) << (exponent - 1)
	}
	if b&0x80 == 0 {
		return int16(-magnitude)
	}
	return int16(magnitude)
}

func encodeAlaw(s int16) byte {
	magnitude, sign := int(s), byte(0x80)
	if magnitude < 0 {
		magnitude, sign = -magnitude-1, 0 // the ones' complement, so that -1 is the smallest negative step
	}
	exponent := max(bits.Len(uint(magnitude))-8, 0)
	mantissa := magnitude >> 4
	if exponent > 0 {
		mantissa = magnitude >> (exponent + 3)
	}
	return (sign | byte(exponent)<<4 | byte(mantissa)&0x0f) ^ 0x55
}
