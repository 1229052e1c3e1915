// RUN: tierup-opt %s --split-input-file --tierup-add-gradients="wrt=0 cotangents" --verify-diagnostics

func.func @main(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error@below {{has no gradient: give it a rule in dialect/ops/gradients, or keep what it gives out of the differentiated result}}
  %0 = torch.operator "somebody.op"(%x) : (!torch.vtensor) -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @main(%x: !torch.tensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  // expected-error@below {{'torch.aten.add_.Scalar' writes to argument 0, so there is no gradient: let the function write to a copy of it}}
  %0 = torch.aten.add_.Scalar %x, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %1 = torch.copy.to_vtensor %0 : !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// expected-error@below {{has no gradient of argument 0, a tensor of i64: only tensors of floating dtype have one}}
func.func @main(%x: !torch.vtensor<[2],si64>) -> !torch.vtensor<[2],si64> {
  return %x : !torch.vtensor<[2],si64>
}

// -----
// expected-error@below {{has no gradient of argument 0, a !torch.int: only tensors and lists of them have one}}
func.func @main(%n: !torch.int, %x: !torch.vtensor) -> !torch.vtensor {
  return %x : !torch.vtensor
}

// -----
// expected-error@below {{@main has no argument 0: it has 0}}
func.func @main() -> !torch.vtensor<[2],f32> {
  %0 = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----
// expected-error@below {{has no function @main: entry=<name> says which one is differentiated}}
module {
}

// -----
func.func @main(%x: !torch.vtensor, %l: !torch.list<vtensor>) -> !torch.vtensor {
  %zero = torch.constant.int 0
  // expected-error@below {{writes a list of tensors, which has no gradient: make a new list instead (a + [x])}}
  %0 = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @main(%x: !torch.vtensor, %l: !torch.list<vtensor>) -> !torch.vtensor {
  %zero = torch.constant.int 0
  %one = torch.prim.ListConstruct %x : (!torch.vtensor) -> !torch.list<vtensor>
  %two = torch.aten.add.t %l, %one : !torch.list<vtensor>, !torch.list<vtensor> -> !torch.list<vtensor>
  // expected-error@below {{has no gradient: the number of tensors in its operand 'tensors' is not known: make the list where it is used}}
  %1 = torch.aten.hstack %two : !torch.list<vtensor> -> !torch.vtensor
  return %1 : !torch.vtensor
}
