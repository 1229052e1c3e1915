// RUN: tierup-opt %s --split-input-file --tierup-lower-control-flow | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-lower-control-flow --tierup-lower-control-flow | FileCheck %s

// Tensors and numbers are carried as builtin values; what the arms compute stays torch's.
// CHECK-LABEL: func.func @branch
// CHECK: [[C:%.+]] = torch_c.to_i1 %arg0
// CHECK: [[R:%.+]]:2 = scf.if [[C]] -> (tensor<4xf32>, i64) {
// CHECK-NEXT: [[Y:%.+]] = torch.aten.tanh %arg1
// CHECK-NEXT: [[T:%.+]] = torch_c.to_builtin_tensor [[Y]]
// CHECK-NEXT: [[N:%.+]] = torch_c.to_i64 %arg2
// CHECK-NEXT: scf.yield [[T]], [[N]]
// CHECK-NEXT: } else {
// CHECK: scf.yield %{{.+}}, %{{.+}} : tensor<4xf32>, i64
// CHECK: torch_c.from_builtin_tensor [[R]]#0
// CHECK: torch_c.from_i64 [[R]]#1
func.func @branch(%c: !torch.bool, %x: !torch.vtensor<[4],f32>, %n: !torch.int) -> (!torch.vtensor<[4],f32>, !torch.int) {
  %r:2 = torch.prim.If %c -> (!torch.vtensor<[4],f32>, !torch.int) {
    %y = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.If.yield %y, %n : !torch.vtensor<[4],f32>, !torch.int
  } else {
    %one = torch.constant.int 1
    torch.prim.If.yield %x, %one : !torch.vtensor<[4],f32>, !torch.int
  }
  return %r#0, %r#1 : !torch.vtensor<[4],f32>, !torch.int
}

// -----
// A loop that goes on for sure.
// CHECK-LABEL: func.func @counted
// CHECK: [[N:%.+]] = arith.index_cast %{{.+}} : i64 to index
// CHECK: scf.for [[K:%.+]] = %c0 to [[N]] step %c1 iter_args([[V:%.+]] = %{{.+}}) -> (tensor<4xf32>) {
// CHECK: [[I:%.+]] = arith.index_cast [[K]] : index to i64
// CHECK: [[IT:%.+]] = torch_c.from_i64 [[I]]
// CHECK: [[VT:%.+]] = torch_c.from_builtin_tensor [[V]]
// CHECK: torch.aten.mul.Scalar [[VT]], [[IT]]
// CHECK: scf.yield
func.func @counted(%n: !torch.int, %x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor<[4],f32>):
    %y = torch.aten.mul.Scalar %v, %i : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%y : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %r : !torch.vtensor<[4],f32>
}

// -----
// One that ends by its trip count or by its condition, whichever comes first; the condition before the first turn counts too.
// CHECK-LABEL: func.func @conditional
// CHECK: [[TRIP:%.+]] = torch_c.to_i64 %arg0
// CHECK: [[GO:%.+]] = torch_c.to_i1 %arg1
// CHECK: scf.while ([[I:%.+]] = %c0_i64, [[MORE:%.+]] = [[GO]], [[V:%.+]] = %{{.+}})
// CHECK-NEXT: [[BELOW:%.+]] = arith.cmpi slt, [[I]], [[TRIP]] : i64
// CHECK-NEXT: [[BOTH:%.+]] = arith.andi [[BELOW]], [[MORE]] : i1
// CHECK-NEXT: scf.condition([[BOTH]]) [[I]], [[MORE]], [[V]]
// CHECK: ^bb0([[J:%.+]]: i64, %{{.+}}: i1, %{{.+}}: f64):
// CHECK: [[NEXT:%.+]] = arith.addi [[J]], %c1_i64 : i64
// CHECK: torch.aten.lt.float
// CHECK: scf.yield [[NEXT]],
func.func @conditional(%n: !torch.int, %go: !torch.bool, %f: !torch.float) -> !torch.float {
  %r = torch.prim.Loop %n, %go, init(%f) {
  ^bb0(%i: !torch.int, %v: !torch.float):
    %y = torch.aten.mul.float_int %v, %i : !torch.float, !torch.int -> !torch.float
    %more = torch.aten.lt.float %y, %f : !torch.float, !torch.float -> !torch.bool
    torch.prim.Loop.condition %more, iter(%y : !torch.float)
  } : (!torch.int, !torch.bool, !torch.float) -> !torch.float
  return %r : !torch.float
}

// -----
// One that goes on for sure once it has begun, which it may not.
// CHECK-LABEL: func.func @perhaps_not_at_all
// CHECK-NOT: scf.for
// CHECK: scf.while
func.func @perhaps_not_at_all(%n: !torch.int, %go: !torch.bool, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %go, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.int):
    torch.prim.Loop.condition %true, iter(%i : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %r : !torch.int
}

// -----
// Inner ones first: a loop in a branch in a loop.
// CHECK-LABEL: func.func @nested
// CHECK: scf.for
// CHECK: scf.if
// CHECK: scf.while
// CHECK-NOT: torch.prim.
// CHECK: return
func.func @nested(%n: !torch.int, %c: !torch.bool, %x: !torch.int) -> !torch.int {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.int):
    %s = torch.prim.If %c -> (!torch.int) {
      %t = torch.prim.Loop %n, %c, init(%v) {
      ^bb0(%j: !torch.int, %w: !torch.int):
        %y = torch.aten.add.int %w, %j : !torch.int, !torch.int -> !torch.int
        torch.prim.Loop.condition %c, iter(%y : !torch.int)
      } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
      torch.prim.If.yield %t : !torch.int
    } else {
      torch.prim.If.yield %i : !torch.int
    }
    torch.prim.Loop.condition %true, iter(%s : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %r : !torch.int
}

// -----
// A list is nothing that native code carries; nor is a tensor of unknown dtype.
// CHECK-LABEL: func.func @list
// CHECK-NEXT: torch.prim.If %arg0 -> (!torch.list<int>) {
// CHECK-NOT: torch_c
// CHECK: return
func.func @list(%c: !torch.bool, %x: !torch.list<int>, %z: !torch.list<int>) -> !torch.list<int> {
  %r = torch.prim.If %c -> (!torch.list<int>) {
    torch.prim.If.yield %x : !torch.list<int>
  } else {
    torch.prim.If.yield %z : !torch.list<int>
  }
  return %r : !torch.list<int>
}

// -----
// CHECK-LABEL: func.func @unknown_dtype
// CHECK: torch.prim.Loop
// CHECK-NOT: torch_c
// CHECK: return
func.func @unknown_dtype(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor):
    torch.prim.Loop.condition %true, iter(%v : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %r : !torch.vtensor
}

// -----
// What a round gives is of another size than what it takes: an scf.for would be given the sizes that it begins with.
// CHECK-LABEL: func.func @resized
// CHECK: scf.while
// CHECK-LABEL: func.func @steady
// CHECK: scf.for
func.func @resized(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor<[?],f32>):
    %w = torch.aten.tanh %v : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
    torch.prim.Loop.condition %true, iter(%w : !torch.vtensor<[?],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %r : !torch.vtensor<[?],f32>
}
func.func @steady(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %v: !torch.vtensor<[?],f32>):
    %w = torch.aten.tanh %v : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
    torch.prim.Loop.condition %true, iter(%w : !torch.vtensor<[?],f32>)
  } {tierup.steady} : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %r : !torch.vtensor<[?],f32>
}
