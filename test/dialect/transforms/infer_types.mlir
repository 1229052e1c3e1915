// RUN: tierup-opt %s --tierup-infer-types --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-infer-types --tierup-infer-types --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @straight
// CHECK-SAME: -> !torch.vtensor<[2,4],f32>
func.func @straight(%x: !torch.vtensor<[2,4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  // CHECK: torch.aten.mul.Tensor {{.*}} -> !torch.vtensor<[2,4],f32>
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  // CHECK: return {{.*}} : !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @symbols
// CHECK-SAME: -> !torch.vtensor<[4,?],f32>
func.func @symbols(%x: !torch.vtensor<[?,4],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %0 = torch.aten.t %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A type that inference knows nothing of stays as it is.
// CHECK-LABEL: func.func @no_less_refined
func.func @no_less_refined(%x: !torch.vtensor) -> !torch.vtensor<[?,3],f32> {
  // CHECK: torch.aten.tanh {{.*}} : !torch.vtensor -> !torch.vtensor<[?,3],f32>
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<[?,3],f32>
  return %0 : !torch.vtensor<[?,3],f32>
}

// -----
// CHECK-LABEL: func.func @branches_join
// CHECK-SAME: -> !torch.vtensor<[?,3],f32>
func.func @branches_join(%c: !torch.bool, %x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor<[5,3],f32>) -> !torch.vtensor {
  // CHECK: torch.prim.If %{{.*}} -> (!torch.vtensor<[?,3],f32>)
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    // CHECK: torch.aten.tanh {{.*}} -> !torch.vtensor<[2,3],f32>
    %1 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    // CHECK: torch.tensor_static_info_cast {{.*}} : !torch.vtensor<[2,3],f32> to !torch.vtensor<[?,3],f32>
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    // CHECK: torch.tensor_static_info_cast {{.*}} : !torch.vtensor<[5,3],f32> to !torch.vtensor<[?,3],f32>
    %1 = torch.tensor_static_info_cast %y : !torch.vtensor<[5,3],f32> to !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// The other arm could not run on such operands.
// CHECK-LABEL: func.func @dead_arm
func.func @dead_arm(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
  %two = torch.constant.int 2
  %d = torch.aten.dim %x : !torch.vtensor<[2,3],f32> -> !torch.int
  %c = torch.aten.eq.int %d, %two : !torch.int, !torch.int -> !torch.bool
  // CHECK-NOT: torch.prim.If
  // CHECK: torch.aten.tanh
  // CHECK-NOT: torch.aten.mm
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %1 = torch.aten.mm %x, %x : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  }
  // CHECK: return {{.*}} : !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @a_size_that_changes_in_a_loop
// CHECK-SAME: -> !torch.vtensor<[?,3],f32>
func.func @a_size_that_changes_in_a_loop(%n: !torch.int, %x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %init = torch.tensor_static_info_cast %x : !torch.vtensor<[2,3],f32> to !torch.vtensor
  // CHECK: torch.tensor_static_info_cast {{.*}} : !torch.vtensor<[2,3],f32> to !torch.vtensor<[?,3],f32>
  // CHECK: ^bb0(%{{.*}}: !torch.int, %{{.*}}: !torch.vtensor<[?,3],f32>)
  %0 = torch.prim.Loop %n, %true, init(%init) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %l = torch.prim.ListConstruct %a, %x : (!torch.vtensor, !torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
    %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Callees are typed on their own: what they take and give stays.
func.func private @callee(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %0 : !torch.vtensor
}
// CHECK-LABEL: func.func @calls
func.func @calls(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor {
  %0 = torch.aten.exp %x : !torch.vtensor<[2],f32> -> !torch.vtensor
  // CHECK: %[[IN:.*]] = torch.tensor_static_info_cast {{.*}} : !torch.vtensor<[2],f32> to !torch.vtensor
  // CHECK: %[[OUT:.*]] = {{.*}}call @callee(%[[IN]])
  // CHECK: torch.tensor_static_info_cast %[[OUT]] : !torch.vtensor to !torch.vtensor<[2],f32>
  %1 = func.call @callee(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @never_runs(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor {
  // expected-error@below {{'torch.aten.mm' op cannot run on operands of these types}}
  %0 = torch.aten.mm %x, %x : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @wrong_type(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f64> {
  // expected-error@below {{'torch.aten.tanh' op cannot run on operands of these types: has a value of type !torch.vtensor<[2,3],f32> where its type says !torch.vtensor<[2,3],f64>}}
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f64>
  return %0 : !torch.vtensor<[2,3],f64>
}

// -----
// expected-remark@below {{needs the sizes s0 and s1 to be equal}}
func.func @ties(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  torch.bind_symbolic_shape %y, [%s1], affine_map<()[s0] -> (s0)> : !torch.vtensor<[?],f32>
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// A truth value among numbers keeps the type of a number: no other is allowed.
// CHECK-LABEL: func.func @item_of_booleans
// CHECK: torch.aten.item %arg0 : !torch.vtensor<[],i1> -> !torch.number
func.func @item_of_booleans(%x: !torch.vtensor<[],i1>) -> !torch.number {
  %0 = torch.aten.item %x : !torch.vtensor<[],i1> -> !torch.number
  return %0 : !torch.number
}

// -----
// Of a function without a body, and of one that calls itself, what the types say is all there is.
func.func private @elsewhere(%x: !torch.vtensor) -> !torch.vtensor<[?],f32>
// CHECK-LABEL: func.func @declared
// CHECK: call @elsewhere
// CHECK: torch.aten.tanh {{.*}} -> !torch.vtensor<[?],f32>
func.func @declared(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = func.call @elsewhere(%x) : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[?],f32> -> !torch.vtensor
  return %1 : !torch.vtensor
}
// CHECK-LABEL: func.func @recursive
// CHECK: torch.aten.tanh {{.*}} -> !torch.vtensor<[4],f32>
// CHECK: call @mutual{{.*}} -> !torch.vtensor{{$}}
func.func @recursive(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor
  %1 = func.call @mutual(%0) : (!torch.vtensor) -> !torch.vtensor
  return %1 : !torch.vtensor
}
func.func @mutual(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = torch.tensor_static_info_cast %x : !torch.vtensor to !torch.vtensor<[4],f32>
  %1 = func.call @recursive(%0) : (!torch.vtensor<[4],f32>) -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @blocks(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{'cf.br' op goes to another block: write torch.prim.If or torch.prim.Loop instead}}
  cf.br ^bb1
^bb1:
  return %x : !torch.vtensor
}

// -----
// An arm that raises for these types may never run: it raises, after what it does before, and the branch is the other arm.
// CHECK-LABEL: func.func @one_arm_raises
// CHECK-SAME: -> !torch.vtensor<[3],f32>
func.func @one_arm_raises(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>, %c: !torch.bool) -> !torch.vtensor {
  %int1 = torch.constant.int 1
  // CHECK: torch.prim.If %arg2 -> () {
  // CHECK-NEXT: torch.prim.If.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT: %[[EXP:.*]] = torch.aten.exp %arg1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // CHECK-NEXT: %[[WORDS:.*]] = torch.constant.str "operands do not broadcast (3,) and (4,): 3 and 4 differ"
  // CHECK-NEXT: %[[KIND:.*]] = torch.constant.str "ValueError"
  // CHECK-NEXT: torch.prim.RaiseException %[[WORDS]], %[[KIND]]
  // CHECK-NEXT: torch.prim.If.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[TANH:.*]] = torch.aten.tanh %arg0 : !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  // CHECK-NEXT: return %[[TANH]]
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.aten.tanh %x : !torch.vtensor<[3],f32> -> !torch.vtensor
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %2 = torch.aten.exp %y : !torch.vtensor<[4],f32> -> !torch.vtensor
    %3 = torch.aten.add.Tensor %x, %2, %int1 : !torch.vtensor<[3],f32>, !torch.vtensor, !torch.int -> !torch.vtensor
    torch.prim.If.yield %3 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// Arm in arm: the outer branch has both of its arms, the inner one its other arm.
// CHECK-LABEL: func.func @an_arm_of_an_arm_raises
func.func @an_arm_of_an_arm_raises(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[4],f32>, %c: !torch.bool, %d: !torch.bool) -> !torch.vtensor {
  %int1 = torch.constant.int 1
  // CHECK: torch.prim.If %arg2 -> (!torch.vtensor<[3],f32>)
  // CHECK: torch.prim.If %arg3 -> ()
  // CHECK: torch.prim.RaiseException
  // CHECK: torch.aten.tanh
  // CHECK: } else {
  // CHECK: torch.aten.exp
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %1 = torch.prim.If %d -> (!torch.vtensor) {
      %2 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[3],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
      torch.prim.If.yield %2 : !torch.vtensor
    } else {
      %3 = torch.aten.tanh %x : !torch.vtensor<[3],f32> -> !torch.vtensor
      torch.prim.If.yield %3 : !torch.vtensor
    }
    torch.prim.If.yield %1 : !torch.vtensor
  } else {
    %4 = torch.aten.exp %x : !torch.vtensor<[3],f32> -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  }
  return %0 : !torch.vtensor
}

// -----
// What a number of unknown kind gives where NumPy's rules make the same of all kinds.
// CHECK-LABEL: func.func @numbers
// CHECK: torch.aten.mul.Scalar {{.*}} -> !torch.vtensor<[2],f64>
// CHECK: torch.aten.mul.Scalar {{.*}} -> !torch.vtensor<[2],unk>
func.func @numbers(%x: !torch.vtensor<[2],f64>, %y: !torch.vtensor<[2],si32>, %n: !torch.number) -> (!torch.vtensor, !torch.vtensor) {
  %0 = torch.aten.mul.Scalar %x, %n {tierup.promotion = "numpy"} : !torch.vtensor<[2],f64>, !torch.number -> !torch.vtensor
  %1 = torch.aten.mul.Scalar %y, %n {tierup.promotion = "numpy"} : !torch.vtensor<[2],si32>, !torch.number -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}

// -----
// An arm that raises says what the op would: NumPy's exception where the op follows NumPy, PyTorch's elsewhere.
// CHECK-LABEL: func.func @whose_exception
// CHECK: "diag requires an array of at least two dimensions"
// CHECK: "ValueError"
// CHECK: "Dimension out of range
// CHECK: "IndexError"
func.func @whose_exception(%x: !torch.vtensor<[3],f32>, %c: !torch.bool) -> !torch.vtensor {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %0 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = torch.aten.diagonal %x, %int0, %int0, %int1 {tierup.promotion = "numpy"} : !torch.vtensor<[3],f32>, !torch.int, !torch.int, !torch.int -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %2 = torch.aten.tanh %x : !torch.vtensor<[3],f32> -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = torch.aten.diagonal %x, %int0, %int0, %int1 : !torch.vtensor<[3],f32>, !torch.int, !torch.int, !torch.int -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    torch.prim.If.yield %0 : !torch.vtensor
  }
  return %1 : !torch.vtensor
}

// -----
// An arm that raises has the class that NumPy gives where its op follows NumPy: for a number that the dtype does not hold, an axis that is not
// there, a power of known numbers that is too large.
// CHECK-LABEL: func.func @arms_raise_as_numpy_does
// CHECK: torch.constant.str "Python integer -2 out of bounds for uint8"
// CHECK-NEXT: torch.constant.str "OverflowError"
// CHECK: torch.constant.str "axis 7 is out of bounds for array of dimension 2"
// CHECK-NEXT: torch.constant.str "AxisError"
// CHECK: torch.constant.str "OverflowError"
func.func @arms_raise_as_numpy_does(%x: !torch.vtensor<[3],ui8>, %a: !torch.bool, %b: !torch.bool, %c: !torch.bool) {
  %minus2 = torch.constant.int -2
  %seven = torch.constant.int 7
  %many = torch.constant.float 5000.0
  torch.prim.If %a -> () {
    %0 = torch.aten.mul.Scalar %x, %minus2 {tierup.promotion = "numpy"} : !torch.vtensor<[3],ui8>, !torch.int -> !torch.vtensor
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  torch.prim.If %b -> () {
    %0 = torch.aten.unsqueeze %x, %seven {tierup.promotion = "numpy"} : !torch.vtensor<[3],ui8>, !torch.int -> !torch.vtensor
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  torch.prim.If %c -> () {
    %0 = torch.aten.pow.int_float %seven, %many {tierup.promotion = "numpy"} : !torch.int, !torch.float -> !torch.float
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return
}
