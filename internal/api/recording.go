package api

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
)

// chunk is how many bytes of a recording one message carries.
const chunk = 64 << 10

// spec: Calls, GET /call/{id}/recording.
func (s *calls) StreamRecording(in *callwrightv1.StreamRecordingRequest, out grpc.ServerStreamingServer[callwrightv1.StreamRecordingResponse]) error {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return err
	}
	ctx := out.Context()
	rec, err := call.FindRecording(ctx, s.db.Ent(), s.recordings, id)
	if err != nil {
		return err
	}
	length, err := span(in, rec.Size)
	if err != nil {
		return err
	}
	if err := out.Send(&callwrightv1.StreamRecordingResponse{Part: &callwrightv1.StreamRecordingResponse_Info{Info: &callwrightv1.RecordingInfo{
		MediaType: call.MediaType, Size: rec.Size, Etag: rec.ETag, ModifiedAt: timestamppb.New(rec.Modified),
	}}}); err != nil {
		return err
	}
	from, err := s.recordings.Reader(ctx, rec.Key, in.GetOffset(), length)
	if err != nil {
		return err
	}
	defer from.Close()
	return send(out, from)
}

// span is how many bytes a request asks for, all of which the recording has.
func span(in *callwrightv1.StreamRecordingRequest, size int64) (int64, error) {
	switch {
	case in.GetOffset() < 0:
		return 0, fault.Invalidf("offset must be 0 or more")
	case in.GetLength() < 0:
		return 0, fault.Invalidf("length must be 0 or more")
	case in.GetOffset() > size:
		return 0, fault.Invalidf("offset must be at most the recording's size, %d", size)
	}
	left := size - in.GetOffset()
	if in.GetLength() == 0 {
		return left, nil
	}
	return min(in.GetLength(), left), nil
}

func send(out grpc.ServerStreamingServer[callwrightv1.StreamRecordingResponse], from io.Reader) error {
	for {
		// Not one buffer for all: a message belongs to the transport until it is written.
		b := make([]byte, chunk)
		n, err := io.ReadFull(from, b)
		if n > 0 {
			if err := out.Send(&callwrightv1.StreamRecordingResponse{Part: &callwrightv1.StreamRecordingResponse_Chunk{Chunk: b[:n]}}); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a recording: %w", err)
		}
	}
}
