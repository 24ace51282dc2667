package rest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

const (
	recordingPath = "/v1/call/{id}/recording"
	// stall is how long a reader of a recording may take for one piece of it.
	stall = 30 * time.Second
	// maxRanges bounds how often one request may reopen the recording; a request for more gets all of it (RFC 9110 §14.2).
	maxRanges = 8
)

// recording answers GET and HEAD /v1/call/{id}/recording: the whole file or ranges of it, with ETag and conditions.
func (h *handler) recording(w http.ResponseWriter, r *http.Request, params map[string]string) {
	x := exchangeOf(r.Context())
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx, err := runtime.AnnotateContext(ctx, h.surfaces["call"].mux, r, callwrightv1.CallService_StreamRecording_FullMethodName)
	if err != nil {
		h.fail(ctx, nil, nil, w, r, err)
		return
	}
	rec := &recording{ctx: ctx, client: callwrightv1.NewCallServiceClient(h.conn), id: params["id"]}
	defer rec.close()
	if err := rec.open(); err != nil {
		h.fail(ctx, nil, nil, w, r, err)
		return
	}
	kind := rec.about.GetMediaType()
	if kind == "" {
		kind = "audio/wav"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private")
	if tag := rec.about.GetEtag(); tag != "" {
		if !strings.HasPrefix(tag, `"`) && !strings.HasPrefix(tag, "W/") {
			tag = `"` + tag + `"`
		}
		w.Header().Set("Etag", tag)
	}
	var modified time.Time
	if rec.about.GetModifiedAt() != nil {
		modified = rec.about.GetModifiedAt().AsTime()
	}
	if x.head {
		r.Method = http.MethodHead
	}
	if strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		r.Header.Del("Range")
	}
	http.ServeContent(newRecordingWriter(x), r, "", modified, rec)
	if rec.failed != nil && ctx.Err() == nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "recording broke off", slog.String("request_id", x.id), slog.Any("err", rec.failed))
	}
}

// recording is a call's recording as a file. Seeking only notes the place; reading opens a stream there, unless the one
// that is open stands there already. So the look for the size, by which ServeContent begins, costs nothing.
type recording struct {
	ctx    context.Context
	client callwrightv1.CallServiceClient
	id     string
	about  *callwrightv1.RecordingInfo

	want   int64 // where the next read is to begin
	at     int64 // where the stream stands
	stream grpc.ServerStreamingClient[callwrightv1.StreamRecordingResponse]
	cancel context.CancelFunc
	rest   []byte // of the last chunk
	failed error
}

// open starts a stream where reading is to begin, and reads its first message.
func (r *recording) open() error {
	r.close()
	ctx, cancel := context.WithCancel(r.ctx)
	stream, err := r.client.StreamRecording(ctx, &callwrightv1.StreamRecordingRequest{Id: r.id, Offset: r.want})
	if err != nil {
		cancel()
		return err
	}
	first, err := stream.Recv()
	if err == nil && first.GetInfo() == nil {
		err = errors.New("a recording began without its info")
	}
	if err != nil {
		cancel()
		return err
	}
	r.about, r.stream, r.cancel, r.at = first.GetInfo(), stream, cancel, r.want
	return nil
}

func (r *recording) close() {
	if r.cancel != nil {
		r.cancel()
	}
	r.stream, r.cancel, r.rest = nil, nil, nil
}

func (r *recording) Read(b []byte) (int, error) {
	if r.want >= r.about.GetSize() {
		return 0, io.EOF
	}
	if r.stream == nil || r.at != r.want {
		if r.failed = r.open(); r.failed != nil {
			return 0, r.failed
		}
	}
	for len(r.rest) == 0 {
		m, err := r.stream.Recv()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it promised a size
		}
		if r.failed = err; err != nil {
			return 0, err
		}
		r.rest = m.GetChunk()
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	r.at += int64(n)
	r.want = r.at
	return n, nil
}

func (r *recording) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.want
	case io.SeekEnd:
		offset += r.about.GetSize()
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of a recording")
	}
	r.want = offset
	return offset, nil
}

// recordingWriter gives a slow reader time as long as it reads, and puts ServeContent's refusals into our error body.
type recordingWriter struct {
	*exchange
	c       *http.ResponseController
	refused bool
}

func newRecordingWriter(x *exchange) *recordingWriter {
	return &recordingWriter{exchange: x, c: http.NewResponseController(x.ResponseWriter)}
}

func (w *recordingWriter) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		w.refused = true
		writeFailure(w.exchange, failure{Status: status, Code: "range_not_satisfiable",
			Message: "the recording does not have the range that was asked for"})
	case http.StatusPreconditionFailed:
		w.refused = true
		writeFailure(w.exchange, failure{Status: status, Code: "precondition_failed",
			Message: "the recording is not the one that was asked for"})
	case http.StatusInternalServerError: // it could not seek; nothing has been sent
		w.refused = true
		refuse(w.exchange, fault.From(errors.New("serve a recording")))
	default:
		w.exchange.WriteHeader(status)
	}
}

func (w *recordingWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	_ = w.c.SetWriteDeadline(time.Now().Add(stall))
	return w.exchange.Write(b)
}
