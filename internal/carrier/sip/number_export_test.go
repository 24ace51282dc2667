package sip

// ReadNumber is readNumber.
var ReadNumber = readNumber
