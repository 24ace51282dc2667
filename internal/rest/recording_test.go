package rest_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
)

const recording = "/v1/call/c1/recording"

func TestARecordingIsDownloadedWhole(t *testing.T) {
	f := start(t)
	resp, body := f.do("GET", recording, "")
	require.Equal(t, 200, resp.StatusCode)
	require.True(t, bytes.Equal(f.recording, []byte(body)))
	require.EqualValues(t, wav, resp.ContentLength)
	require.Equal(t, "audio/wav", resp.Header.Get("Content-Type"))
	require.Equal(t, "bytes", resp.Header.Get("Accept-Ranges"))
	require.Equal(t, `"tag1"`, resp.Header.Get("Etag"))
	require.Equal(t, "Sun, 09 Sep 2001 01:46:40 GMT", resp.Header.Get("Last-Modified"))
	require.Equal(t, 1, f.opened, "one stream")
}

func TestARecordingIsDownloadedInPieces(t *testing.T) {
	f := start(t)
	for header, want := range map[string][2]int{
		"bytes=0-99": {0, 100}, "bytes=100-199": {100, 200}, "bytes=-10": {wav - 10, wav}, "bytes=199990-": {199990, wav},
		"bytes=199990-999999": {199990, wav}, "bytes=0-": {0, wav}, "bytes=70000-140000": {70000, 140001},
	} {
		resp, body := f.do("GET", recording, "", "Range", header)
		require.Equal(t, 206, resp.StatusCode, header)
		require.Equal(t, string(f.recording[want[0]:want[1]]), body, header)
	}
	resp, body := f.do("GET", recording, "", "Range", "bytes=0-1,5-6")
	require.Equal(t, 206, resp.StatusCode)
	require.Contains(t, resp.Header.Get("Content-Type"), "multipart/byteranges")
	require.Contains(t, body, "\r\n\r\n56\r\n")
	resp, _ = f.do("GET", recording, "", "Range", "bytes=0-1"+strings.Repeat(",5-6", 8))
	require.Equal(t, 200, resp.StatusCode, "nobody needs that many")
	resp, _ = f.do("GET", recording, "", "Range", "bytes=0-1", "If-Range", `"other"`)
	require.Equal(t, 200, resp.StatusCode)
}

func TestHeadOfARecordingReadsNothing(t *testing.T) {
	f := start(t)
	resp, body := f.do("HEAD", recording, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, body)
	require.EqualValues(t, wav, resp.ContentLength)
	require.Equal(t, `"tag1"`, resp.Header.Get("Etag"))
	resp, _ = f.do("HEAD", "/call/c1/recording", "", "Range", "bytes=0-9")
	require.Equal(t, 206, resp.StatusCode)
	require.EqualValues(t, 10, resp.ContentLength)
}

func TestConditionsOnARecording(t *testing.T) {
	f := start(t)
	resp, body := f.do("GET", recording, "", "If-None-Match", `"tag1"`)
	require.Equal(t, 304, resp.StatusCode)
	require.Empty(t, body)
	require.Equal(t, `"tag1"`, resp.Header.Get("Etag"))
	resp, body = f.do("GET", recording, "", "If-Match", `"other"`)
	refused(t, resp, body, 412, "precondition_failed")
	resp, body = f.do("GET", recording, "", "Range", "bytes=200000-")
	refused(t, resp, body, 416, "range_not_satisfiable")
	require.Equal(t, "bytes */200000", resp.Header.Get("Content-Range"))
	resp, body = f.do("GET", recording, "", "Range", "bytes=5-1")
	refused(t, resp, body, 416, "range_not_satisfiable")
}

func TestARecordingThatIsNotThere(t *testing.T) {
	f := start(t)
	f.err = fault.Missing("recording")
	resp, body := f.do("GET", recording, "")
	refused(t, resp, body, 404, "recording_not_found")
	require.Empty(t, resp.Header.Get("Accept-Ranges"))
	resp, body = f.do("HEAD", recording, "")
	require.Equal(t, 404, resp.StatusCode)
	require.Empty(t, body)
	f.err = fault.New(fault.Unauthenticated, "unauthorized", "no")
	resp, body = f.do("GET", recording, "")
	refused(t, resp, body, 401, "unauthorized")
	require.Equal(t, "Bearer", resp.Header.Get("WWW-Authenticate"))
}

func TestARecordingMayBeEmpty(t *testing.T) {
	f := start(t)
	f.recording = nil
	resp, body := f.do("GET", recording, "")
	require.Equal(t, 200, resp.StatusCode)
	require.Empty(t, body)
}

// breaks sends half of what it promised.
type breaks struct{ services }

func (*breaks) StreamRecording(_ *v1.StreamRecordingRequest, out grpc.ServerStreamingServer[v1.StreamRecordingResponse]) error {
	return errors.Join(
		out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Info{Info: &v1.RecordingInfo{Size: 10}}}),
		out.Send(&v1.StreamRecordingResponse{Part: &v1.StreamRecordingResponse_Chunk{Chunk: []byte("12345")}}))
}

func TestARecordingThatBreaksOffDoesNotLookWhole(t *testing.T) {
	f := start(t, func(c *rest.Config) { c.Conn = connTo(&breaks{}) })
	resp, err := http.Get(f.url + recording)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
