package api

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/replay"
	"github.com/callwright/callwright/internal/store"
)

// replaying registers services so that their methods with the option idempotency_key answer a repetition of an
// Idempotency-Key with the first answer. It stands behind every interceptor: whoever is not let in learns nothing.
type replaying struct {
	grpc.ServiceRegistrar
	db *store.DB
}

func (r replaying) RegisterService(d *grpc.ServiceDesc, service any) {
	own := *d
	own.Methods = append([]grpc.MethodDesc(nil), d.Methods...)
	for i, m := range own.Methods {
		if answer := repeatable(d.ServiceName, m.MethodName); answer != nil {
			own.Methods[i].Handler = r.wrap("/"+d.ServiceName+"/"+m.MethodName, answer, m.Handler)
		}
	}
	r.ServiceRegistrar.RegisterService(&own, service)
}

// repeatable is the type of a method's answer if the method takes an Idempotency-Key.
func repeatable(service, method string) protoreflect.MessageType {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return nil
	}
	m := d.(protoreflect.MethodDescriptor)
	option, _ := proto.GetExtension(m.Options(), callwrightv1.E_Rest).(*callwrightv1.Rest)
	if !option.GetIdempotencyKey() {
		return nil
	}
	answer, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	if err != nil {
		return nil
	}
	return answer
}

func (r replaying) wrap(method string, answer protoreflect.MessageType, next grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, dec func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
		return next(srv, ctx, dec, func(ctx context.Context, in any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			last := func(ctx context.Context, in any) (any, error) {
				return r.once(ctx, method, answer, in, h)
			}
			if chain == nil {
				return last(ctx, in)
			}
			return chain(ctx, in, info, last)
		})
	}
}

func (r replaying) once(ctx context.Context, method string, answer protoreflect.MessageType, in any, h grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	key := strings.TrimSpace(strings.Join(md.Get("idempotency-key"), ","))
	if key == "" {
		return h(ctx, in)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(in.(proto.Message))
	if err != nil {
		return nil, err
	}
	var first any
	kept, replayed, err := replay.Do(ctx, r.db, replay.Request{Key: key, Method: method, Body: body}, func(ctx context.Context) ([]byte, error) {
		if first, err = h(ctx, in); err != nil {
			return nil, err
		}
		return proto.Marshal(first.(proto.Message))
	})
	if err != nil || !replayed {
		return first, err
	}
	again := answer.New().Interface()
	if err := proto.Unmarshal(kept, again); err != nil {
		return nil, err
	}
	return again, grpc.SetHeader(ctx, metadata.Pairs("idempotency-replayed", "true"))
}
