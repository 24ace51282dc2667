package audio

// Peaks is the largest magnitude (0 to 255) in each of n equal parts of the sound, for a picture of it.
func Peaks(pcm []int16, n int) []byte {
	peaks := make([]byte, max(n, 0))
	for i := range peaks {
		for _, s := range pcm[i*len(pcm)/n : (i+1)*len(pcm)/n] {
			peaks[i] = max(peaks[i], byte(min(abs(int(s))>>7, 255)))
		}
	}
	return peaks
}
