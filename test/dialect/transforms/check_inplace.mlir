// RUN: tierup-opt %s --split-input-file --tierup-check-inplace --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-check-inplace --tierup-check-inplace --verify-diagnostics | FileCheck %s

// Ops with a functional twin, writes of lists and of contents, and names with underscores that write nothing.
// CHECK-LABEL: func.func @known
func.func @known(%x: !torch.tensor, %y: !torch.tensor, %v: !torch.vtensor, %l: !torch.list<int>, %n: !torch.int) -> !torch.tensor {
  %one = torch.constant.int 1
  %0 = torch.aten.add_.Tensor %x, %y, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  %1 = torch.aten.append.t %l, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  torch.overwrite.tensor.contents %v overwrites %x : !torch.vtensor, !torch.tensor
  %2 = torch.aten.__and__.Tensor %v, %v : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %3 = torch.operator "aten._fused_adam"(%v) : (!torch.vtensor) -> !torch.vtensor
  %4 = torch.operator "aten.__xor__.Tensor"(%v, %v) : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
  return %0 : !torch.tensor
}

// -----
// All of them are named, in branches and loops too.
func.func @unknown(%x: !torch.tensor, %c: !torch.bool) -> !torch.tensor {
  %half = torch.constant.float 5.000000e-01
  %none = torch.constant.none
  // expected-error@below {{writes its operand (aten.bernoulli_.float), and no part of tierup knows which function it computes}}
  %0 = torch.aten.bernoulli_.float %x, %half, %none : !torch.tensor, !torch.float, !torch.none -> !torch.tensor
  torch.prim.If %c -> () {
    // expected-error@below {{writes its operand (aten.polygamma_)}}
    %1 = torch.operator "aten.polygamma_"(%x) : (!torch.tensor) -> !torch.tensor
    // expected-error@below {{writes its operand (aten.__iand__.Tensor)}}
    %2 = torch.operator "aten.__iand__.Tensor"(%x, %x) : (!torch.tensor, !torch.tensor) -> !torch.tensor
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return %x : !torch.tensor
}
