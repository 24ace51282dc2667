package openai

// DecodeRealtime lets the fuzzer at what the reader does.
var DecodeRealtime = decodeRealtime
