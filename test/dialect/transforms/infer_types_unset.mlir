// RUN: tierup-opt %s --tierup-infer-types | FileCheck %s

// What a loop carries before it is set has no say in its type, and memory of the sizes that it has from then on.

// CHECK-LABEL: func.func @rows
// CHECK-NOT: Uninitialized
// CHECK: [[SIZE:%.+]] = torch.aten.size.int %arg0, %int1
// CHECK: [[SIZES:%.+]] = torch.prim.ListConstruct [[SIZE]]
// CHECK: [[BEGUN:%.+]] = torch.aten.empty.memory_format [[SIZES]], %int6, {{.*}} -> !torch.vtensor<[?],f32>
// CHECK-NOT: Uninitialized
// CHECK: torch.prim.Loop {{.*}}, init(%false, [[BEGUN]])
// CHECK: -> (!torch.bool, !torch.vtensor<[?],f32>)
func.func @rows(%x: !torch.vtensor<[4,?],f32>, %c: !torch.bool) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (4, s0)> : !torch.vtensor<[4,?],f32>
  %int0 = torch.constant.int 0
  %int4 = torch.constant.int 4
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %none = torch.prim.Uninitialized : !torch.vtensor
  %0:2 = torch.prim.Loop %int4, %true, init(%false, %none) {
  ^bb0(%i: !torch.int, %there: !torch.bool, %sum: !torch.vtensor):
    %row = torch.aten.select.int %x, %int0, %i : !torch.vtensor<[4,?],f32>, !torch.int, !torch.int -> !torch.vtensor
    %1 = torch.prim.If %there -> (!torch.vtensor) {
      %2 = torch.aten.mul.Tensor %sum, %row : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      torch.prim.If.yield %2 : !torch.vtensor
    } else {
      torch.prim.If.yield %row : !torch.vtensor
    }
    torch.prim.Loop.condition %true, iter(%c, %1 : !torch.bool, !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.bool, !torch.vtensor) -> (!torch.bool, !torch.vtensor)
  return %0#1 : !torch.vtensor
}
