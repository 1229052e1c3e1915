// RUN: tierup-opt %s --split-input-file --tierup-propagate-symbolic-shapes --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-propagate-symbolic-shapes > %t.a 2> /dev/null
// RUN: tierup-opt %s --split-input-file > %t.b
// RUN: diff %t.a %t.b

// Sizes are expressions of the declared symbols.
// CHECK-LABEL: func.func @expressions
func.func @expressions(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,4],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  torch.bind_symbolic_shape %y, [%s1], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct %x, %y, %x : (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>) -> !torch.list<vtensor>
  // expected-remark@below {{gives f32[2*s0 + s1,4]}}
  %0 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  // expected-remark@below {{gives i64[u0,2]}}
  %1 = torch.aten.nonzero %0 : !torch.vtensor -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// The broadcast of [1,6,5] and [1,7,1,5].
func.func @broadcast(%x: !torch.vtensor<[1,6,5],f32>, %y: !torch.vtensor<[1,7,1,5],f32>) -> !torch.vtensor {
  // expected-remark@below {{gives f32[1,7,6,5]}}
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[1,6,5],f32>, !torch.vtensor<[1,7,1,5],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Symbols that must be equal; the size 1 is no symbol.
// expected-remark@below {{needs the sizes s0 and s2 to be equal}}
func.func @ties(%x: !torch.vtensor<[?,1,?],f32>, %y: !torch.vtensor<[1,?,?],f32>) -> !torch.vtensor {
  %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s1 = torch.symbolic_int "s1" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  %s2 = torch.symbolic_int "s2" {min_val = 2, max_val = 9223372036854775807} : !torch.int
  torch.bind_symbolic_shape %x, [%s1, %s0], affine_map<()[s0, s1] -> (s0, 1, s1)> : !torch.vtensor<[?,1,?],f32>
  torch.bind_symbolic_shape %y, [%s1, %s2], affine_map<()[s0, s1] -> (1, s0, s1)> : !torch.vtensor<[1,?,?],f32>
  // expected-remark@below {{gives f32[s1,s1,s0]}}
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?,1,?],f32>, !torch.vtensor<[1,?,?],f32> -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
func.func @raises(%x: !torch.vtensor<[2,3],f32>, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  // expected-remark@below {{raises on such operands}}
  // expected-remark@below {{gives ?[*]}}
  %0 = torch.aten.mm %x, %x : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor
  // expected-remark@below {{gives ?[*]}}
  %1 = torch.aten.tanh %y : !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
